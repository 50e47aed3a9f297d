// One caller at a time: a player, a leader or a fleet is not guarded by a lock. While it is at work the interpreter's may be
// let go, or a law of Python's own may be asked, which may call back: whoever comes then is refused.
#pragma once

#include "arrays.hpp"

namespace hn {

class Busy {
    bool& busy_;

public:
    Busy(bool& busy, const char* rule) : busy_(busy) {
        require(!busy, rule);
        busy = true;
    }
    Busy(const Busy&) = delete;
    ~Busy() { busy_ = false; }
};

}  // namespace hn
