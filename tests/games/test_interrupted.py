"""Ctrl-C stops a game, and a long game needs little memory."""

import subprocess
import sys
import textwrap

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_stops_a_game_and_its_threads():
    code = textwrap.dedent("""
        import _thread, os, signal, sys, threading, time
        import numpy as np
        from hannan.adversaries import Bernoulli
        from hannan.games.play import play
        from hannan.learners.bandits import Bandit
        from hannan.mathematics.regularizers import Entropy
        from hannan.learners.tuning import Fixed
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may ignore it
        learner = Bandit(10, Entropy(), Fixed(30.0))
        play(learner, np.zeros((5, 10)))
        seen = []
        def stop():
            while _thread._count() < 2:  # this thread and the game's other one
                pass
            seen.append(_thread._count())
            os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(1.0, stop)
        timer.start()
        began = time.monotonic()
        try:
            play(learner, Bernoulli(np.full(10, 0.5), 10**10), runs=64, threads=2)
        except KeyboardInterrupt:
            timer.join()
            print("stopped", time.monotonic() - began < 8, seen, _thread._count())
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "stopped True [2] 0", done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory of a process")
def test_ten_million_rounds_need_bounded_memory(tmp_path):
    code = textwrap.dedent("""
        import sys
        import numpy as np
        from hannan.games.play import play
        from hannan.learners.bandits import Bandit
        from hannan.mathematics.regularizers import Entropy
        from hannan.learners.tuning import Horizon
        file = np.lib.format.open_memmap(sys.argv[1], "w+", np.float64, (10**7, 10))
        for t in range(0, 10**7, 10**5):
            file[t : t + 10**5] = (np.arange(10) >= 5) * 1.0
            file.flush()
            file._mmap.madvise(4)
        del file
        record = play(Bandit(10, Entropy(), Horizon(10**7)), np.load(sys.argv[1], mmap_mode="r"))
        assert record.rounds == 10**7
        # VmHWM, not ru_maxrss: that one keeps the peak of the process that started this one.
        print(int(next(s.split()[1] for s in open("/proc/self/status") if s.startswith("VmHWM"))) / 1024)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "losses.npy")], capture_output=True, text=True, timeout=300
    )
    assert float(done.stdout) < 300, done.stderr
