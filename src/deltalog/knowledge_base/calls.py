"""How public calls of a knowledge base run: one at a time, out of reach of signals, and within its limits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deltalog.core.concurrency.interrupts import shielded

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase
    from deltalog.knowledge_base.session import Session

Method = TypeVar("Method", bound=Callable[..., Any])


def exclusive(method: Method) -> Method:
    """A method that takes its turn among the calls of one knowledge base."""

    @shielded
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._session.lock.held:
            return method(self, *args, **kwargs)

    return cast(Method, called)


def limited(method: Method) -> Method:
    """A method that takes its turn, and obeys the limits of the knowledge base as one call."""
    name = method.__name__

    @shielded
    @wraps(method)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        session = self._session
        with session.lock.held:
            return session.run(name, partial(method, self, *args, **kwargs))

    return cast(Method, called)


def session_of(kb: KnowledgeBase) -> Session:
    """The session of a knowledge base, for servers, pipelines and tests."""
    return kb._session
