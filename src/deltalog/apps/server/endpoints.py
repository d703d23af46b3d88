"""What a path is: its fields, the handler, and what kind of work that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from deltalog.apps.server.fields import Field
from deltalog.apps.server.metrics import Metrics
from deltalog.apps.server.settings import ServerSettings
from deltalog.apps.server.versions import Versions

if TYPE_CHECKING:
    from deltalog.knowledge_base.facade import KnowledgeBase

JSON = "application/json"


class HandlerWork(Enum):
    """Where a handler runs, and what it is given."""

    READ = "read"  # in a thread, with a reader of a version
    WRITE = "write"  # in a thread, one after the other
    AT_ONCE = "at once"  # it waits for nothing
    STREAM = "stream"  # as long as the client likes


@dataclass(frozen=True)
class Request:
    """A request, read and checked."""

    values: Mapping[str, Any]  # of the path, of parameters and of a body in JSON
    headers: Mapping[str, str]
    parameters: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    media_type: str = ""
    origin: str = ""  # the address that the client has called, without a path

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


@dataclass(frozen=True)
class Response:
    """An answer that is not JSON, or not of status 200."""

    content: str | bytes = b""
    media_type: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadingHandler:
    """What a handler that reads is given: a knowledge base of one version, for itself."""

    kb: KnowledgeBase
    version: int
    versions: Versions

    @property
    def settings(self) -> ServerSettings:
        return self.versions.settings


@dataclass(frozen=True)
class Service:
    """What all handlers share."""

    versions: Versions
    metrics: Metrics
    describe: Callable[[], dict[str, Any]]  # in OpenAPI


@dataclass(frozen=True)
class RouteCall:
    """A handler, and where it runs. `handle` takes a `Reading`, or the `Service` where it does not read; then the
    request. It returns a document in JSON, or `Response`; a STREAM returns events."""

    work: HandlerWork
    handle: Callable[..., Any]


@dataclass(frozen=True)
class Endpoint:
    """A method of a path. `own_body`: the handler reads body and parameters itself, and `media_types` are what it
    takes."""

    method: str
    path: str
    about: str
    call: RouteCall | Callable[[Request], RouteCall]  # what is done, or how to decide it
    fields: tuple[Field, ...] = ()
    body: tuple[Field, ...] | None = None
    media_types: tuple[str, ...] = ()
    own_body: bool = False
    answers: tuple[str, ...] = (JSON,)  # media types
    statuses: Mapping[int, str] = field(default_factory=dict)  # beside 200 and those that all have

    @property
    def may_write(self) -> bool:
        """Whether some requests change something."""
        return self.call.work is HandlerWork.WRITE if isinstance(self.call, RouteCall) else self.method != "GET"

    def called(self, request: Request) -> RouteCall:
        return self.call if isinstance(self.call, RouteCall) else self.call(request)

    @property
    def path_fields(self) -> tuple[Field, ...]:
        names = [part.strip("{}").partition(":")[0] for part in self.path.split("/") if part.startswith("{")]
        return tuple(Field(name, "text", f"the {name}", required=True) for name in names)
