// Tickets as text: their fields, then BLAKE2b of them under a secret of the store's, in base64url without padding.
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "../blake2b.hpp"
#include "arrays.hpp"
#include "rooms.hpp"

namespace hn {
namespace {

constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t mac = 16, longest = 1000;

/// Two letters for each 12 bits; and back, 64 where there is no such letter.
struct Letters {
    char pairs[4096][2];
    u8 back[256];
    constexpr Letters() : pairs(), back() {
        for (int x = 0; x < 4096; ++x) pairs[x][0] = letters[x >> 6], pairs[x][1] = letters[x & 63];
        for (int c = 0; c < 256; ++c) back[c] = 64;
        for (u8 k = 0; k < 64; ++k) back[u8(letters[k])] = k;
    }
};
constexpr Letters table;

/// base64url of `size` bytes; how many letters.
std::size_t write_text(const u8* raw, std::size_t size, char* out) {
    char* at = out;
    std::size_t k = 0;
    for (; k + 3 <= size; k += 3, at += 4) {
        const u32 x = u32(raw[k]) << 16 | u32(raw[k + 1]) << 8 | raw[k + 2];
        std::memcpy(at, table.pairs[x >> 12], 2), std::memcpy(at + 2, table.pairs[x & 4095], 2);
    }
    if (size - k == 1) std::memcpy(at, table.pairs[u32(raw[k]) << 4], 2), at += 2;
    if (size - k == 2) {
        const u32 x = u32(raw[k]) << 16 | u32(raw[k + 1]) << 8;
        std::memcpy(at, table.pairs[x >> 12], 2), at[2] = letters[x >> 6 & 63], at += 3;
    }
    return std::size_t(at - out);
}

template <class T>
u8* put(u8* at, T value) {
    std::memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

/// What was written in base64url, or None where nothing writes this text.
nb::object ticket_bytes(nb::handle text) {
    Py_ssize_t size = 0;
    const char* given = PyUnicode_Check(text.ptr()) ? PyUnicode_AsUTF8AndSize(text.ptr(), &size) : nullptr;
    PyErr_Clear();
    if (!given || std::size_t(size) > longest || size % 4 == 1) return nb::none();
    u8 raw[longest];
    std::size_t made = 0;
    u32 held = 0;
    int bits = 0;
    for (Py_ssize_t k = 0; k < size; ++k) {
        const u8 letter = table.back[u8(given[k])];
        if (letter == 64) return nb::none();
        held = held << 6 | letter, bits += 6;
        if (bits >= 8) bits -= 8, raw[made++] = u8(held >> bits);
    }
    if (held & ((1u << bits) - 1)) return nb::none();  // another text of the same bytes
    return nb::bytes(reinterpret_cast<const char*>(raw), made);
}

/// Signs and knows what one secret signed.
class Signer {
    Blake2b keyed_;

public:
    explicit Signer(nb::bytes secret) : keyed_(mac, reinterpret_cast<const u8*>(secret.c_str()), checked(secret)) {
        keyed_.take_key();
    }
    static std::size_t checked(const nb::bytes& secret) {
        require(secret.size() >= 1 && secret.size() <= 64, "a secret has 1 to 64 bytes");
        return secret.size();
    }

    nb::object ticket(const nb::bytes& head, i64 arm, u64 sequence, u64 round, double p, const nb::bytes& key) const {
        char text[longest];
        return nb::steal(PyUnicode_FromStringAndSize(text, Py_ssize_t(write({head, arm, sequence, round, p, key}, text))));
    }
    /// Those of one learner, in the order of their sequences; `keys` is one for all, or a list.
    nb::list tickets(nb::bytes head, In<i64> arms, u64 first, In<u64> rounds, In<double> p, nb::object keys) const {
        nb::list out;
        char text[longest];
        each(head, arms, first, rounds, p, keys, [&](const Said& said) {
            out.append(nb::steal(PyUnicode_FromStringAndSize(text, Py_ssize_t(write(said, text)))));
        });
        return out;
    }
    /// The same as the JSON of an answer, up to its probabilities: {"ticket":[...],"arm":[...],"action":[...],"probability":
    /// `labels` are the arms, as JSON each.
    nb::bytes answer(nb::bytes head, In<i64> arms, u64 first, In<u64> rounds, In<double> p, nb::object keys, nb::list labels) const {
        std::string out = "{\"ticket\":[", named = "],\"arm\":[", numbered = "],\"action\":[";
        out.reserve(arms.size() * 120 + 100);
        char text[longest];
        each(head, arms, first, rounds, p, keys, [&](const Said& said) {
            require(said.arm >= 0 && std::size_t(said.arm) < labels.size(), "an arm must have a label");
            const nb::bytes label = nb::cast<nb::bytes>(labels[std::size_t(said.arm)]);
            if (said.sequence != first) out += ',', named += ',', numbered += ',';
            out += '"', out.append(text, write(said, text)), out += '"';
            named.append(label.c_str(), label.size()), numbered += std::to_string(said.arm);
        });
        out += named, out += numbered, out += "],\"probability\":";
        return nb::bytes(out.data(), out.size());
    }
    bool signs(nb::bytes raw) const {
        if (raw.size() < mac) return false;
        u8 own[mac], differs = 0;
        const u8* given = reinterpret_cast<const u8*>(raw.c_str());
        sign(given, raw.size() - mac, own);
        // All of it is looked at, so that how long it takes says nothing.
        for (std::size_t k = 0; k < mac; ++k) differs = u8(differs | (own[k] ^ given[raw.size() - mac + k]));
        return differs == 0;
    }

private:
    /// What a ticket says: head, arm, sequence, round, p, key.
    struct Said { const nb::bytes& head; i64 arm; u64 sequence, round; double p; const nb::bytes& key; };

    /// A ticket's text, signed; how long it is.
    std::size_t write(const Said& said, char* text) const {
        const std::size_t begin = said.head.size(), size = begin + 26 + said.key.size();
        require(4 * (size + mac) <= 3 * longest - 3, "a ticket must be short");
        u8 raw[longest];
        std::memcpy(raw, said.head.c_str(), begin);
        u8* at = put(put(put(put(raw + begin, std::uint16_t(said.arm)), said.sequence), said.round), said.p);
        std::memcpy(at, said.key.c_str(), said.key.size());
        sign(raw, size, raw + size);
        return write_text(raw, size + mac, text);
    }
    template <class Visit>
    void each(const nb::bytes& head, const In<i64>& arms, u64 first, const In<u64>& rounds, const In<double>& p,
              const nb::object& keys, Visit visit) const {
        require(rounds.size() == arms.size() && p.size() == arms.size(), "rounds and probabilities must be one per arm");
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
    require(size >= 1 && size <= 64 && key.size() <= 64, "a digest has 1 to 64 bytes, and a key at most 64");
    u8 out[64];
    Blake2b digest(size, reinterpret_cast<const u8*>(key.c_str()), key.size());
    digest.add(reinterpret_cast<const u8*>(data.c_str()), data.size());
    digest.end(out);
    return nb::bytes(reinterpret_cast<const char*>(out), size);
}

}  // namespace

void bind_signing(nb::module_& m) {
    nb::class_<Signer>(m, "Signer", "Signs tickets with one secret.")
        .def(nb::init<nb::bytes>(), "secret"_a)
        .def("ticket", &Signer::ticket, "head"_a, "arm"_a, "sequence"_a, "round"_a, "probability"_a, "key"_a)
        .def("tickets", &Signer::tickets, "head"_a, "arms"_a, "first"_a, "rounds"_a, "probabilities"_a, "keys"_a)
        .def("answer", &Signer::answer, "head"_a, "arms"_a, "first"_a, "rounds"_a, "probabilities"_a, "keys"_a, "labels"_a,
             "The same as the JSON of an answer, up to its probabilities; `labels` are the arms, as JSON each.")
        .def("signs", &Signer::signs, "raw"_a, "Whether the last 16 bytes are the signature of those before them.");
    m.def("ticket_bytes", &ticket_bytes, "text"_a.none(), "The bytes of a ticket's text; None where it is no such text.");
    m.def("blake2b", &blake2b, "data"_a, "key"_a, "size"_a, "For tests: as hashlib's.");
}

}  // namespace hn
