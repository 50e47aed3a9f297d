// Tickets as text: their fields and the BLAKE2b MAC of the fields under a secret of the store, in base64url without
// padding.
//
//     format 1   u8 1, u8 secret, 8s journal, 8s epoch, u32 learner, u16 shard, u16 arm, u64 sequence, u64 round, f64 p, key, MAC
//     format 2   u8 2, u8 kind, 8s journal, 8s epoch, u32 learner, u16 shard, then as varints: secret, stage, sequence, number, round;
//                then the decision, the key, the MAC of 16 bytes
//     decision   of one arm: arm as a varint, f64 p;  of a slate: varint items, f64 P(slate), then per item: arm as a varint, f64 p
//     key        u8 0 (none), u8 1 and i64, or u8 2 and UTF-8
//
// A varint has 7 bits per byte, the lowest first; the high bit of a byte is set if another byte follows. Little-endian.
// The shard is at the same place in both formats, because clients of version 0.2 read it there.
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "../blake2b.hpp"
#include "../chacha20.hpp"
#include "arrays.hpp"
#include "registration.hpp"

namespace hn {
namespace {

constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t mac = 16, longest = 4096;
/// Bytes before the varints of format 2.
constexpr std::size_t fixed_part = 24;
/// Kinds of decisions.
enum class Choice : u8 { arm, slate };
constexpr u64 most_items = 256;

/// Tables of base64url: two letters per 12 bits; and the reverse, 64 for invalid letters.
struct Letters {
    char pairs[4096][2];
    u8 back[256];
    constexpr Letters() : pairs(), back() {
        for (int x = 0; x < 4096; ++x) {
            pairs[x][0] = letters[x >> 6];
            pairs[x][1] = letters[x & 63];
        }
        for (int c = 0; c < 256; ++c) back[c] = 64;
        for (u8 k = 0; k < 64; ++k) back[u8(letters[k])] = k;
    }
};
constexpr Letters table;

/// Encode `size` bytes in base64url; returns the number of letters.
std::size_t write_text(const u8* raw, std::size_t size, char* out) {
    char* at = out;
    std::size_t k = 0;
    for (; k + 3 <= size; k += 3, at += 4) {
        const u32 x = u32(raw[k]) << 16 | u32(raw[k + 1]) << 8 | raw[k + 2];
        std::memcpy(at, table.pairs[x >> 12], 2);
        std::memcpy(at + 2, table.pairs[x & 4095], 2);
    }
    if (size - k == 1) {
        std::memcpy(at, table.pairs[u32(raw[k]) << 4], 2);
        at += 2;
    }
    if (size - k == 2) {
        const u32 x = u32(raw[k]) << 16 | u32(raw[k + 1]) << 8;
        std::memcpy(at, table.pairs[x >> 12], 2);
        at[2] = letters[x >> 6 & 63];
        at += 3;
    }
    return std::size_t(at - out);
}

template <class T>
u8* put(u8* at, T value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

u8* put_varint(u8* at, u64 value) {
    for (; value >= 128; value >>= 7) *at++ = u8(value | 128);
    *at++ = u8(value);
    return at;
}

/// Decode base64url into `raw`; return the number of bytes, or -1 if the text is not the encoding of any bytes.
i64 decode(nb::handle text, u8* raw) {
    Py_ssize_t size = 0;
    const char* given = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    PyErr_Clear();
    if (!given || std::size_t(size) > longest || size % 4 == 1) return -1;
    i64 made = 0;
    u32 held = 0;
    int bits = 0;
    for (Py_ssize_t k = 0; k < size; ++k) {
        const u8 letter = table.back[u8(given[k])];
        if (letter == 64) return -1;
        held = held << 6 | letter;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            raw[made++] = u8(held >> bits);
        }
    }
    return held & ((1u << bits) - 1) ? -1 : made;  // -1: the text is not the canonical encoding of its bytes
}

/// The bytes of a ticket's text, or None.
nb::object ticket_bytes(nb::handle text) {
    u8 raw[longest];
    const i64 size = decode(text, raw);
    return size < 0 ? nb::none()
                    : nb::object(nb::bytes(reinterpret_cast<const char*>(raw), std::size_t(size)));
}

/// Bounds-checked reader of the fields of a ticket. After an error `good` is false and every value is 0.
struct Reader {
    const u8 *at, *end;
    bool good = true;

    template <class T>
    T get() {
        T value{};
        if (std::size_t(end - at) < sizeof value) return good = false, value;
        std::memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
    u64 varint() {
        u64 value = 0;
        for (int shift = 0; shift < 64 && at < end; shift += 7) {
            const u8 byte = *at++;
            value |= u64(byte & 127) << shift;
            if (byte < 128) return value;
        }
        return good = false, 0;
    }
    nb::bytes bytes(std::size_t size) {
        if (std::size_t(end - at) < size) return good = false, nb::bytes("", 0);
        at += size;
        return nb::bytes(reinterpret_cast<const char*>(at - size), size);
    }
    /// The key: all remaining bytes.
    nb::object key() {
        const u8 kind = get<u8>();
        const std::size_t left = std::size_t(end - at);
        if (good && kind == 0 && left == 0) return nb::none();
        if (good && kind == 1 && left == 8) return nb::int_(get<i64>());
        nb::object text;
        if (good && kind == 2)
            text =
                nb::steal(PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(at), Py_ssize_t(left), nullptr));
        PyErr_Clear();
        return text.is_valid() ? text : (good = false, nb::none());
    }
};

/// The fields of a ticket: None if the text is no ticket, (format,) if its format is unknown, else (raw bytes, format, kind,
/// journal, epoch, learner, shard, secret, stage, sequence, round, arms, probabilities, probability, key). Not yet verified.
nb::object ticket_fields(nb::handle text) {
    u8 raw[longest];
    const i64 decoded = decode(text, raw);
    if (decoded < i64(fixed_part + mac)) return nb::none();
    if (raw[0] != 1 && raw[0] != 2) return nb::make_tuple(raw[0]);
    const std::size_t size = std::size_t(decoded);
    Reader in{raw, raw + size - mac};
    const u8 format = in.get<u8>();
    const u64 second =
        in.get<u8>();  // the number of the secret in format 1, the kind of decision in format 2
    const nb::bytes journal = in.bytes(8), epoch = in.bytes(8);
    const u32 learner = in.get<u32>();
    const std::uint16_t shard = in.get<std::uint16_t>();
    u64 secret, stage, sequence, round, items = 1;
    double probability = 0.0;
    Choice kind = Choice::arm;
    nb::tuple arms, probabilities;
    if (format == 1) {
        secret = second;
        stage = 1;
        const u64 arm = in.get<std::uint16_t>();
        sequence = in.get<u64>();
        round = in.get<u64>();
        probability = in.get<double>();
        arms = nb::make_tuple(arm);
        probabilities = nb::make_tuple(probability);
    } else {
        if (second > u64(Choice::slate)) return nb::none();
        kind = Choice(second);
        secret = in.varint();
        stage = in.varint();
        sequence = in.varint();
        const u64 number = in.varint(), drawn = in.varint();
        if (number >> 32 || drawn >> 32) return nb::none();
        round = number << 32 | drawn;
        if (kind == Choice::arm) {
            const u64 arm = in.varint();
            probability = in.get<double>();
            arms = nb::make_tuple(arm);
            probabilities = nb::make_tuple(probability);
        } else {
            items = in.varint();
            probability = in.get<double>();
            if (!in.good || items < 1 || items > most_items) return nb::none();
            nb::list which, p;
            for (u64 k = 0; k < items && in.good; ++k) {
                which.append(in.varint());
                p.append(in.get<double>());
            }
            arms = nb::tuple(which);
            probabilities = nb::tuple(p);
        }
    }
    const nb::object key = in.key();
    if (!in.good) return nb::none();
    return nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(raw), size), format, u8(kind), journal,
                          epoch, learner, shard, secret, stage, sequence, round, arms, probabilities,
                          probability, key);
}

/// Signer and verifier of tickets with one secret.
class Signer {
    Blake2b keyed_;

public:
    explicit Signer(nb::bytes secret)
        : keyed_(mac, reinterpret_cast<const u8*>(secret.c_str()), checked(secret)) {
        keyed_.take_key();
    }
    static std::size_t checked(const nb::bytes& secret) {
        require(secret.size() >= 1 && secret.size() <= 64, "secret must have 1 to 64 bytes");
        return secret.size();
    }

    nb::object ticket(const nb::bytes& head, i64 arm, u64 sequence, u64 round, double p,
                      const nb::bytes& key) const {
        char text[longest];
        return nb::steal(
            PyUnicode_FromStringAndSize(text, Py_ssize_t(write({head, arm, sequence, round, p, key}, text))));
    }
    /// Ticket of a slate: arms with their inclusion probabilities, and the probability of the slate (NaN:
    /// unknown).
    nb::object slate(const nb::bytes& head, In<i64> arms, In<double> inclusion, double p, u64 sequence,
                     u64 round, const nb::bytes& key) const {
        require(arms.size() >= 1 && arms.size() <= most_items && inclusion.size() == arms.size(),
                "a slate must have 1 to 256 items, and one inclusion probability per item");
        u8 raw[longest + 16 * most_items];
        char text[longest];
        u8* at = put_round(raw, head, sequence, round);
        at = put(put_varint(at, arms.size()), p);
        for (std::size_t k = 0; k < arms.size(); ++k)
            at = put(put_varint(at, u64(arms.data()[k])), inclusion.data()[k]);
        return nb::steal(PyUnicode_FromStringAndSize(text, Py_ssize_t(signed_text(raw, at, key, text))));
    }
    /// Tickets of one learner, in the order of their sequences; `keys` is one key for all, or a list.
    nb::list tickets(nb::bytes head, In<i64> arms, u64 first, In<u64> rounds, In<double> p,
                     nb::object keys) const {
        nb::list out;
        char text[longest];
        each(head, arms, first, rounds, p, keys, [&](const Said& said) {
            out.append(nb::steal(PyUnicode_FromStringAndSize(text, Py_ssize_t(write(said, text)))));
        });
        return out;
    }
    /// The same as JSON text of an answer up to its probabilities:
    /// {"ticket":[...],"arm":[...],"action":[...],"probability": `labels` are the arms as JSON.
    nb::bytes answer(nb::bytes head, In<i64> arms, u64 first, In<u64> rounds, In<double> p, nb::object keys,
                     nb::list labels) const {
        std::string out = "{\"ticket\":[", named = "],\"arm\":[", numbered = "],\"action\":[";
        out.reserve(arms.size() * 120 + 100);
        char text[longest];
        each(head, arms, first, rounds, p, keys, [&](const Said& said) {
            require(said.arm >= 0 && std::size_t(said.arm) < labels.size(),
                    "labels must have one entry per arm");
            const nb::bytes label = nb::cast<nb::bytes>(labels[std::size_t(said.arm)]);
            if (said.sequence != first) {
                out += ',';
                named += ',';
                numbered += ',';
            }
            out += '"';
            out.append(text, write(said, text));
            out += '"';
            named.append(label.c_str(), label.size());
            numbered += std::to_string(said.arm);
        });
        out += named;
        out += numbered;
        out += "],\"probability\":";
        return nb::bytes(out.data(), out.size());
    }
    bool signs(nb::bytes raw) const {
        if (raw.size() < mac) return false;
        u8 own[mac], differs = 0;
        const u8* given = reinterpret_cast<const u8*>(raw.c_str());
        sign(given, raw.size() - mac, own);
        // Compare all bytes, so that the time reveals nothing about the signature.
        for (std::size_t k = 0; k < mac; ++k) differs = u8(differs | (own[k] ^ given[raw.size() - mac + k]));
        return differs == 0;
    }

private:
    /// Fields of a ticket: head, arm, sequence, round, p, key.
    struct Said {
        const nb::bytes& head;
        i64 arm;
        u64 sequence, round;
        double p;
        const nb::bytes& key;
    };

    /// Copy the head and append sequence, number and round as varints.
    static u8* put_round(u8* raw, const nb::bytes& head, u64 sequence, u64 round) {
        require(head.size() <= 64, "the head of a ticket must have at most 64 bytes");
        std::memcpy(raw, head.c_str(), head.size());
        return put_varint(put_varint(put_varint(raw + head.size(), sequence), round >> 32),
                          round & 0xffffffffu);
    }
    /// Append key and signature; return the length of the text.
    std::size_t signed_text(u8* raw, u8* at, const nb::bytes& key, char* text) const {
        const std::size_t size = std::size_t(at - raw) + key.size();
        require(4 * (size + mac) <= 3 * longest - 3, "a ticket must have at most 4096 characters");
        std::memcpy(at, key.c_str(), key.size());
        sign(raw, size, raw + size);
        return write_text(raw, size + mac, text);
    }
    /// Write the text of a ticket of one arm, signed; return its length.
    std::size_t write(const Said& said, char* text) const {
        u8 raw[longest];
        u8* at = put_round(raw, said.head, said.sequence, said.round);
        return signed_text(raw, put(put_varint(at, u64(said.arm)), said.p), said.key, text);
    }
    template <class Visit>
    void each(const nb::bytes& head, const In<i64>& arms, u64 first, const In<u64>& rounds,
              const In<double>& p, const nb::object& keys, Visit visit) const {
        require(rounds.size() == arms.size() && p.size() == arms.size(),
                "rounds and probabilities must be one per arm");
        const bool one_key = nb::isinstance<nb::bytes>(keys);
        nb::bytes key = one_key ? nb::cast<nb::bytes>(keys) : nb::bytes("", 0);
        for (std::size_t k = 0; k < arms.size(); ++k) {
            if (!one_key) key = nb::cast<nb::bytes>(nb::object(keys[k]));
            visit(Said{head, arms.data()[k], first + k, rounds.data()[k], p.data()[k], key});
        }
    }
    void sign(const u8* data, std::size_t size, u8* out) const {
        Blake2b digest = keyed_;
        digest.add(data, size);
        digest.end(out);
    }
};

nb::bytes blake2b(nb::bytes data, nb::bytes key, std::size_t size) {
    require(size >= 1 && size <= 64 && key.size() <= 64,
            "size must be 1 to 64 bytes, and key at most 64 bytes");
    u8 out[64];
    Blake2b digest(size, reinterpret_cast<const u8*>(key.c_str()), key.size());
    digest.add(reinterpret_cast<const u8*>(data.c_str()), data.size());
    digest.end(out);
    return nb::bytes(reinterpret_cast<const char*>(out), size);
}

nb::bytes chacha20(nb::bytes key, u32 number, nb::bytes nonce) {
    require(key.size() == 32 && nonce.size() == 12, "a key must have 32 bytes and a nonce 12 bytes");
    ChaCha20Key words;
    u32 apart[3], out[16];
    std::memcpy(words.word, key.c_str(), sizeof words.word);
    std::memcpy(apart, nonce.c_str(), sizeof apart);
    chacha20_block(words, number, apart, out);
    return nb::bytes(reinterpret_cast<const char*>(out), sizeof out);
}

}  // namespace

void bind_signing(nb::module_& m) {
    nb::class_<Signer>(m, "Signer", "Signer of tickets with one secret.")
        .def(nb::init<nb::bytes>(), "secret"_a)
        .def("ticket", &Signer::ticket, "head"_a, "arm"_a, "sequence"_a, "round"_a, "probability"_a, "key"_a)
        .def("slate", &Signer::slate, "head"_a, "arms"_a, "inclusion"_a, nb::kw_only(), "probability"_a, "sequence"_a,
             "round"_a, "key"_a)
        .def("tickets", &Signer::tickets, "head"_a, "arms"_a, "first"_a, "rounds"_a, "probabilities"_a,
             "keys"_a)
        .def("answer", &Signer::answer, "head"_a, "arms"_a, "first"_a, nb::kw_only(), "rounds"_a, "probabilities"_a,
             "keys"_a, "labels"_a,
             "Return the JSON of an answer up to its probabilities; `labels` are the arms, as JSON "
             "each.")
        .def("signs", &Signer::signs, "raw"_a,
             "Return True if the last 16 bytes sign the bytes before them.");
    m.def("ticket_bytes", &ticket_bytes, "text"_a.none(),
          "Return the bytes of a ticket's text; None if it is not base64url.");
    m.def("ticket_fields", &ticket_fields, "text"_a.none(),
          "Return the fields of a ticket, not yet verified; (format,) if the format is unknown, None if the "
          "text is not a ticket.");
    m.def("blake2b", &blake2b, "data"_a, "key"_a, "size"_a, "For tests: as hashlib's.");
    m.def("chacha20_block", &chacha20, "key"_a, "number"_a, "nonce"_a, "For tests: one block of the stream of a key.");
}

}  // namespace hn
