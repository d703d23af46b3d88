"""LUBM data by the published profile of UBA (Guo, Pan and Heflin, 2005), written straight as N-Triples.

    python -m benchmarks.generators.lubm 10 lubm-10.nt

A university has 15 to 25 departments. A department has

    7-10 full, 10-14 associate and 8-11 assistant professors, 5-7 lecturers; one full professor is the head
    1-2 courses and 1-2 graduate courses a teacher, no two teachers share one; 10-20 research groups
    8-14 undergraduates and 3-4 graduates for each teacher
    2-4 courses an undergraduate, 1-3 graduate courses a graduate
    a professor as the advisor of every graduate and of every fifth undergraduate
    a fifth to a quarter of the graduates as teaching assistants of a course each, a quarter to a third of the others'
    number as research assistants
    15-20, 10-18, 5-10 and 0-5 publications by rank; each graduate is an author of 0-5 of the department's
    degrees from 1,000 universities

The names are UBA's. The data are not UBA's own, whose random numbers are Java's, but have its shape: LUBM(1) 100 k
triples, LUBM(5) 625 k, LUBM(10) 1.27 M. The default seed was chosen so that, as in UBA's with seed 0, the first 1, 5
and 10 universities have 15, 93 and 189 departments. University u is the same whatever the number of universities.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.generators.draws import Ints, between, uniform

SEED = 12168
ONTOLOGY = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
RANKS = ("FullProfessor", "AssociateProfessor", "AssistantProfessor", "Lecturer")
SIZES = {
    "FullProfessor": (7, 10),
    "AssociateProfessor": (10, 14),
    "AssistantProfessor": (8, 11),
    "Lecturer": (5, 7),
}
PUBLICATIONS = {
    "FullProfessor": (15, 20),
    "AssociateProfessor": (10, 18),
    "AssistantProfessor": (5, 10),
    "Lecturer": (0, 5),
}
UNIVERSITIES = 1000
MOST = 1 << 13  # more than any department has of anything


@dataclass(frozen=True)
class Members:
    """Things of one kind in the departments of a university: the department of each, its number in it, its IRI.

    Sorted by department; `start[d]` and `count[d]` say where a department's things are. `ids` are for drawing: they
    are unique among things of the kind in all universities.
    """

    department: Ints
    number: Ints
    start: Ints
    count: Ints
    ids: Ints
    iris: list[str]


def departments(university: int, seed: int = SEED) -> int:
    return int(between(seed, "departments", np.array([university]), 15, 25)[0])


def members(kind: str, count: Ints, homes: Sequence[str], first_id: int) -> Members:
    """`count[d]` things in each department d, with IRIs <home/kindN>."""
    department = np.repeat(np.arange(len(count)), count)
    start = np.cumsum(count) - count
    number = np.arange(len(department)) - start[department]
    iris = [f"<{homes[d]}/{kind}{n}>" for d, n in zip(department.tolist(), number.tolist(), strict=True)]
    return Members(department, number, start, count, (first_id + department) * MOST + number, iris)


def choose(seed: int, stream: str, ids: Ints, sizes: Ints, among: Ints) -> tuple[Ints, Ints]:
    """For each row, `sizes` distinct numbers below `among` (Floyd's algorithm, all rows at once): rows, numbers."""
    most = int(sizes.max(initial=0))
    sizes = np.minimum(sizes, among)
    chosen = np.full((len(ids), most), -1, np.int64)
    for step in range(most):
        limit = np.maximum(among - sizes + step, 0)
        drawn = between(seed, stream, ids * 8 + step, 0, limit)
        taken = (chosen == drawn[:, None]).any(axis=1)
        chosen[:, step] = np.where(taken, limit, drawn)
    kept = np.arange(most) < sizes[:, None]
    return np.nonzero(kept)[0], chosen[kept]


def shuffled(seed: int, stream: str, things: Members) -> Ints:
    """The things, in random order inside each department."""
    return np.lexsort((uniform(seed, stream, things.ids), things.department))


class University:
    """One university as lists of N-Triples lines; each method adds one paragraph of the profile."""

    def __init__(self, university: int, seed: int = SEED) -> None:
        self.seed, self.university, self.lines = seed, university, list[str]()
        self.degrees: set[int] = {university}
        number = departments(university, seed)
        self.first_id = university * 32
        self.ids = self.first_id + np.arange(number)
        self.homes = [f"http://www.Department{d}.University{university}.edu" for d in range(number)]
        self.organisations()
        self.teachers = {rank: self.rank(rank) for rank in RANKS}
        self.courses, self.graduate_courses = (
            self.teaching("Course"),
            self.teaching("GraduateCourse"),
        )
        self.undergraduates, self.graduates = self.students()
        self.studies()
        self.assistants()
        self.publications()

    def draw(self, stream: str, ids: Ints, low: int | Ints, high: int | Ints) -> Ints:
        return between(self.seed, stream, ids, low, high)

    def members(self, kind: str, count: Ints) -> Members:
        return members(kind, count, self.homes, self.first_id)

    def say(self, predicate: str, subjects: Sequence[str], objects: Sequence[str]) -> None:
        middle = f" <{ONTOLOGY}{predicate}> "
        self.lines.extend([f"{s}{middle}{o} .\n" for s, o in zip(subjects, objects, strict=True)])

    def say_type(self, kind: str, subjects: Sequence[str]) -> None:
        end = f" {TYPE} <{ONTOLOGY}{kind}> .\n"
        self.lines.extend([s + end for s in subjects])

    def say_names(self, things: Members, kind: str) -> None:
        self.say_type(kind, things.iris)
        self.say("name", things.iris, [f'"{kind}{n}"' for n in things.number.tolist()])

    def say_person(self, things: Members, kind: str) -> None:
        self.say_names(things, kind)
        where = [home.removeprefix("http://www.") for home in self.homes]
        pairs = zip(things.number.tolist(), things.department.tolist(), strict=True)
        self.say("emailAddress", things.iris, [f'"{kind}{n}@{where[d]}"' for n, d in pairs])
        self.say("telephone", things.iris, ['"xxx-xxx-xxxx"'] * len(things.iris))

    def say_degree(self, predicate: str, things: Members, kind: str) -> None:
        numbers = self.draw(kind + predicate, things.ids, 0, UNIVERSITIES - 1).tolist()
        self.degrees.update(numbers)
        self.say(predicate, things.iris, [f"<http://www.University{n}.edu>" for n in numbers])

    def organisations(self) -> None:
        here = f"<http://www.University{self.university}.edu>"
        self.say("name", [here], [f'"University{self.university}"'])
        homes = [f"<{home}>" for home in self.homes]
        self.say_type("Department", homes)
        self.say("name", homes, [f'"Department{d}"' for d in range(len(homes))])
        self.say("subOrganizationOf", homes, [here] * len(homes))
        groups = self.members("ResearchGroup", self.draw("groups", self.ids, 10, 20))
        self.say_type("ResearchGroup", groups.iris)
        self.say("subOrganizationOf", groups.iris, self.homes_of(groups))

    def homes_of(self, things: Members) -> list[str]:
        return [f"<{self.homes[d]}>" for d in things.department.tolist()]

    def rank(self, rank: str) -> Members:
        people = self.members(rank, self.draw(rank, self.ids, *SIZES[rank]))
        self.say_person(people, rank)
        self.say("worksFor", people.iris, self.homes_of(people))
        for degree in (
            "undergraduateDegreeFrom",
            "mastersDegreeFrom",
            "doctoralDegreeFrom",
        ):
            self.say_degree(degree, people, rank)
        if rank != "Lecturer":
            interests = self.draw(rank + "interest", people.ids, 0, 29).tolist()
            self.say("researchInterest", people.iris, [f'"Research{n}"' for n in interests])
        if rank == "FullProfessor":
            heads = people.start + self.draw("head", self.ids, 0, people.count - 1)
            self.say(
                "headOf",
                [people.iris[i] for i in heads.tolist()],
                [f"<{home}>" for home in self.homes],
            )
        return people

    def teaching(self, kind: str) -> Members:
        counts = {rank: self.draw(rank + kind, people.ids, 1, 2) for rank, people in self.teachers.items()}
        number = len(self.homes)
        totals = [np.bincount(self.teachers[r].department, counts[r], number).astype(np.int64) for r in RANKS]
        courses = self.members(kind, np.sum(totals, axis=0))
        self.say_names(courses, kind)
        offset = courses.start.copy()
        for rank, total in zip(RANKS, totals, strict=True):
            people, count = self.teachers[rank], counts[rank]
            teacher = np.repeat(np.arange(len(people.iris)), count)
            first = np.cumsum(total) - total
            course = np.arange(len(teacher)) + (offset - first)[people.department[teacher]]
            self.say(
                "teacherOf",
                [people.iris[i] for i in teacher.tolist()],
                [courses.iris[i] for i in course.tolist()],
            )
            offset += total
        return courses

    def students(self) -> tuple[Members, Members]:
        faculty = np.sum([people.count for people in self.teachers.values()], axis=0)
        ratios = {"UndergraduateStudent": (8, 14), "GraduateStudent": (3, 4)}
        both = []
        for kind, (low, high) in ratios.items():
            ratio = low + uniform(self.seed, kind, self.ids) * (high - low)
            students = self.members(kind, np.floor(faculty * ratio).astype(np.int64))
            self.say_person(students, kind)
            self.say("memberOf", students.iris, self.homes_of(students))
            both.append(students)
        self.say_degree("undergraduateDegreeFrom", both[1], "GraduateStudent")
        return both[0], both[1]

    def studies(self) -> None:
        professors = [self.teachers[rank] for rank in RANKS[:3]]
        for students, courses, low, high, every in (
            (self.undergraduates, self.courses, 2, 4, 5),
            (self.graduates, self.graduate_courses, 1, 3, 1),
        ):
            stream = f"courses{low}"
            sizes = self.draw(stream + "size", students.ids, low, high)
            row, course = choose(
                self.seed,
                stream,
                students.ids,
                sizes,
                courses.count[students.department],
            )
            course += courses.start[students.department[row]]
            self.say(
                "takesCourse",
                [students.iris[i] for i in row.tolist()],
                [courses.iris[i] for i in course.tolist()],
            )
            advised = np.flatnonzero(self.draw(stream + "advised", students.ids, 1, every) == 1)
            self.advise(students, advised, professors)

    def advise(self, students: Members, advised: Ints, professors: list[Members]) -> None:
        counts = np.array([p.count for p in professors])
        before = np.cumsum(counts, axis=0) - counts
        department = students.department[advised]
        pick = self.draw("advisor", students.ids[advised], 0, counts.sum(axis=0)[department] - 1)
        rank = (pick >= before[:, department]).sum(axis=0) - 1
        index = pick - before[rank, department] + np.array([p.start for p in professors])[rank, department]
        pairs = zip(rank.tolist(), index.tolist(), strict=True)
        self.say(
            "advisor",
            [students.iris[i] for i in advised.tolist()],
            [professors[r].iris[i] for r, i in pairs],
        )

    def assistants(self) -> None:
        graduates, courses = self.graduates, self.courses
        teaching = np.floor(graduates.count * (0.2 + 0.05 * uniform(self.seed, "teaching", self.ids))).astype(np.int64)
        teaching = np.minimum(teaching, courses.count)
        research = np.floor(graduates.count * (1 / 4 + uniform(self.seed, "research", self.ids) / 12)).astype(np.int64)
        order, place = shuffled(self.seed, "assistants", graduates), graduates.number
        department = graduates.department
        teach = place < teaching[department]
        search = ~teach & (place < (teaching + research)[department])
        taught = shuffled(self.seed, "assisted", courses)[(courses.start[department] + place)[teach]]
        names = [graduates.iris[i] for i in order[teach].tolist()]
        self.say_type("TeachingAssistant", names)
        self.say("teachingAssistantOf", names, [courses.iris[i] for i in taught.tolist()])
        self.say_type("ResearchAssistant", [graduates.iris[i] for i in order[search].tolist()])

    def publications(self) -> None:
        papers: list[list[str]] = [[] for _ in self.homes]
        for rank, people in self.teachers.items():
            count = self.draw(rank + "publications", people.ids, *PUBLICATIONS[rank])
            rows = zip(people.iris, people.department.tolist(), count.tolist(), strict=True)
            written = [(f"{i[:-1]}/Publication{n}>", i, f'"Publication{n}"', d) for i, d, c in rows for n in range(c)]
            for paper, _, _, department in written:
                papers[department].append(paper)
            iris = [paper for paper, _, _, _ in written]
            self.say_type("Publication", iris)
            self.say("publicationAuthor", iris, [author for _, author, _, _ in written])
            self.say("name", iris, [name for _, _, name, _ in written])
        self.coauthors(papers)

    def coauthors(self, papers: list[list[str]]) -> None:
        graduates = self.graduates
        among = np.array([len(p) for p in papers])[graduates.department]
        sizes = self.draw("coauthor", graduates.ids, 0, 5)
        row, paper = choose(self.seed, "papers", graduates.ids, sizes, among)
        pairs = zip(graduates.department[row].tolist(), paper.tolist(), strict=True)
        self.say(
            "publicationAuthor",
            [papers[d][p] for d, p in pairs],
            [graduates.iris[i] for i in row.tolist()],
        )


def triples(universities: int, seed: int = SEED) -> Iterator[list[str]]:
    """The lines of each university in turn, sorted; no line comes twice."""
    known: set[int] = set()
    for number in range(universities):
        university = University(number, seed)
        new = university.degrees - known
        known |= new
        university.say_type("University", [f"<http://www.University{n}.edu>" for n in new])
        university.lines.sort()
        yield university.lines


def department(number: int = 0, seed: int = SEED) -> Iterator[str]:
    """The lines of the first university that speak of one of its departments: a fifteenth of LUBM(1)."""
    home = f"Department{number}.University0.edu"
    return (line for line in University(0, seed).lines if home in line)


def write(universities: int, path: Path, seed: int = SEED) -> int:
    """Write LUBM(universities) to a file, whole or not at all; the number of triples."""
    total = 0
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("w", encoding="ascii", newline="\n") as out:
        for lines in triples(universities, seed):
            total += len(lines)
            out.write("".join(lines))
    unfinished.replace(path)
    return total


if __name__ == "__main__":
    print(f"{write(int(sys.argv[1]), Path(sys.argv[2])):,} triples")
