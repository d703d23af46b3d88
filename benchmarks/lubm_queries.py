"""The 14 queries of LUBM (Guo, Pan and Heflin, 2005) as goals."""

PREFIX = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
QUERIES = {
    "Q1": ("a1:GraduateStudent[?x], a1:takesCourse[?x, <http://www.Department0.University0.edu/GraduateCourse0>]"),
    "Q2": (
        "a1:GraduateStudent[?x], "
        "a1:University[?y], "
        "a1:Department[?z], "
        "a1:memberOf[?x, ?z], "
        "a1:subOrganizationOf[?z, ?y], "
        "a1:undergraduateDegreeFrom[?x, ?y]"
    ),
    "Q3": (
        "a1:Publication[?x], a1:publicationAuthor[?x, <http://www.Department0.University0.edu/AssistantProfessor0>]"
    ),
    "Q4": (
        "a1:Professor[?x], "
        "a1:worksFor[?x, <http://www.Department0.University0.edu>], "
        "a1:name[?x, ?y1], "
        "a1:emailAddress[?x, ?y2], "
        "a1:telephone[?x, ?y3]"
    ),
    "Q5": "a1:Person[?x], a1:memberOf[?x, <http://www.Department0.University0.edu>]",
    "Q6": "a1:Student[?x]",
    "Q7": (
        "a1:Student[?x], "
        "a1:Course[?y], "
        "a1:takesCourse[?x, ?y], "
        "a1:teacherOf[<http://www.Department0.University0.edu/AssociateProfessor0>, ?y]"
    ),
    "Q8": (
        "a1:Student[?x], "
        "a1:Department[?y], "
        "a1:memberOf[?x, ?y], "
        "a1:subOrganizationOf[?y, <http://www.University0.edu>], "
        "a1:emailAddress[?x, ?z]"
    ),
    "Q9": (
        "a1:Student[?x], "
        "a1:Faculty[?y], "
        "a1:Course[?z], "
        "a1:advisor[?x, ?y], "
        "a1:teacherOf[?y, ?z], "
        "a1:takesCourse[?x, ?z]"
    ),
    "Q10": "a1:Student[?x], a1:takesCourse[?x, <http://www.Department0.University0.edu/GraduateCourse0>]",
    "Q11": "a1:ResearchGroup[?x], a1:subOrganizationOf[?x, <http://www.University0.edu>]",
    "Q12": (
        "a1:Chair[?x], a1:Department[?y], a1:worksFor[?x, ?y], a1:subOrganizationOf[?y, <http://www.University0.edu>]"
    ),
    "Q13": "a1:Person[?x], a1:hasAlumnus[<http://www.University0.edu>, ?x]",
    "Q14": "a1:UndergraduateStudent[?x]",
}
