"""`p4lab autograder`: a lab, ready for a platform that grades by itself."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from p4lab.cli.errors import fail, fail_at
from p4lab.cli.grade_verb import secret_seed
from p4lab.cli.options import Lab


class Platform(str, Enum):
    """Who grades."""

    gradescope = "gradescope"
    prairielearn = "prairielearn"


For = Annotated[Platform, typer.Option("--for", help="The platform.")]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="PATH", help="The zip or folder; default: PLATFORM-LAB."),
]
SeedFile = Annotated[
    Path | None,
    typer.Option("--seed-file", metavar="FILE", help="As for `grade`; default: LAB.seed."),
]
Image = Annotated[
    str, typer.Option("--image", metavar="NAME", help="Name of the PrairieLearn image.")
]


def autograder(
    lab: Lab,
    platform: For,
    out: Out = None,
    seed_file: SeedFile = None,
    image: Image = "p4lab-grader",
) -> None:
    """Make a Gradescope autograder (a zip to upload) or a PrairieLearn image (a folder to build).

    It holds p4lab, the lab with its reference, and the seed: keep it from students.
    """
    from p4lab.course.labs import LabError  # heavy: labs and their checks, and with them pydantic
    from p4lab.grading import autograder as making
    from p4lab.grading.course import load
    from p4lab.grading.workers import GradingError

    suffix = ".zip" if platform is Platform.gradescope else ""
    out = out or Path(f"{platform.value}-{lab}{suffix}")
    try:
        course = load(lab)
        seed = secret_seed(seed_file or Path(f"{lab}.seed"))
        if platform is Platform.gradescope:
            making.write_zip(out, making.gradescope(course, seed))
            typer.echo(f"{out}: upload it as the autograder of a programming assignment.")
        else:
            making.write_folder(out, making.prairielearn(course, seed, image))
            typer.echo(
                f"{out}: build it with docker build -t {image} {out}, and copy {out / 'question'} "
                "into your course."
            )
    except (GradingError, LabError) as error:
        fail(str(error))
    except OSError as error:
        fail_at(error, out)
