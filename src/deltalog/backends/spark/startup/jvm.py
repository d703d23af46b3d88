"""Driver: the JVM of a session that deltalog starts, launched first, so that it comes up while this process imports.

pyspark's own `launch_gateway` starts a JVM and waits for it. Here these are two steps: `launch` starts the same command
(spark-submit, with a file to which the JVM writes its port), and `Launch.connect` waits, and lets pyspark connect to
that JVM as to one that was already running. The JVM ends when its standard input is closed, so it ends with this
process, however that ends.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalog.backends.spark.startup.submit_conf import ARGUMENTS, PORT, spark_home
from deltalog.model.errors import EngineError

SECRET = "PYSPARK_GATEWAY_SECRET"


@dataclass(frozen=True, slots=True)
class Launch:
    """A JVM that is starting, and the folder of the file to which it writes its port."""

    process: subprocess.Popen[bytes]
    folder: str

    def abandon(self) -> None:
        """At the end of this process: kills a JVM that was never connected to."""
        if Path(self.folder).exists():
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self) -> Any:
        """pyspark's gateway to the JVM; waits until it is up."""
        from pyspark.java_gateway import launch_gateway

        try:
            os.environ |= self._address()
            gateway = launch_gateway()
        finally:
            for name in (PORT, SECRET):
                os.environ.pop(name, None)
            shutil.rmtree(self.folder, ignore_errors=True)
        gateway.proc = self.process
        return gateway

    def _address(self) -> dict[str, str]:
        from pyspark.serializers import UTF8Deserializer, read_int

        file = Path(self.folder) / "address"
        while not file.exists():
            if self.process.poll() is not None:
                raise EngineError("the JVM ended before it was up; its messages are above")
            time.sleep(0.02)
        with open(file, "rb") as info:
            return {PORT: str(read_int(info)), SECRET: UTF8Deserializer().loads(info)}


def launch(settings: Mapping[str, str]) -> Launch | None:
    """Starts a JVM with settings; None if pyspark has to start it."""
    home = spark_home()
    if home is None or os.name != "posix" or not (home / "bin" / "spark-submit").exists():
        return None
    command = [str(home / "bin" / "spark-submit")]
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command += shlex.split(os.environ.get(ARGUMENTS, "pyspark-shell"))
    folder = tempfile.mkdtemp()
    more = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": f"{folder}/address"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=2, env=os.environ | more, preexec_fn=_leave_interrupts_to_python
    )
    launched = Launch(process, folder)
    atexit.register(launched.abandon)
    return launched


def _leave_interrupts_to_python() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
