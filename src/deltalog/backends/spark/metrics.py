"""Driver: jobs, stages, tasks and shuffles of an application, read from Spark's status store."""

from __future__ import annotations

from typing import Any


def metrics(context: Any) -> dict[str, int]:
    """The totals over all jobs that Spark still remembers (`spark.ui.retainedStages`)."""
    scala = context._jsc.sc()
    scala.listenerBus().waitUntilEmpty()
    store, jvm = scala.statusStore(), context._jvm
    jobs = store.jobsList(None).size()
    stages = _stages(store, jvm, context._gateway)
    ran = [stage for stage in stages if stage.status().toString() == "COMPLETE"]
    written = [stage.shuffleWriteBytes() for stage in ran]
    return {
        "jobs": jobs,
        "stages": len(ran),
        "tasks": sum(stage.numCompleteTasks() for stage in ran),
        "shuffles": sum(count > 0 for count in written),
        "shuffle_bytes": sum(written),
    }


def _stages(store: Any, jvm: Any, gateway: Any) -> list[Any]:
    nothing = gateway.new_array(jvm.double, 0)
    found = store.stageList(None, False, False, nothing, jvm.java.util.ArrayList())
    return [found.apply(i) for i in range(found.size())]
