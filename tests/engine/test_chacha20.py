"""ChaCha20 of the engine equals the test vectors of RFC 8439, and OpenSSL if Python has it."""

import pytest

from hannan import _engine

KEY = bytes(range(32))
BLOCK = bytes.fromhex(
    "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
    "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
)
ZEROS = bytes.fromhex(
    "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
)


def test_block_of_section_2_3_2():
    assert _engine.chacha20_block(KEY, 1, bytes.fromhex("000000090000004a00000000")) == BLOCK


def test_first_vector_of_appendix_a_1():
    assert _engine.chacha20_block(bytes(32), 0, bytes(12)) == ZEROS


def test_control_another_block_number_changes_the_block():
    assert _engine.chacha20_block(KEY, 2, bytes.fromhex("000000090000004a00000000")) != BLOCK


@pytest.mark.parametrize(("key", "nonce"), [(bytes(31), bytes(12)), (bytes(32), bytes(8))])
def test_rejects_wrong_sizes(key, nonce):
    with pytest.raises(ValueError, match="32 bytes"):
        _engine.chacha20_block(key, 0, nonce)
