"""The files that make machines. Without these, an admin finds the mistake, an hour into a VM."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from p4lab.cli import app
from p4lab.course.labs import LabError
from p4lab.notebook import server

ROOT = Path(__file__).parents[2]


def scripts() -> list[str]:
    """Every file of the repository that a shell runs, by its first line."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = [name for name in listed.stdout.split("\0") if (ROOT / name).is_file()]
    return [name for name in names if re.match(rb"#!.*\b(ba|da)?sh\b", head(ROOT / name))]


def head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.readline(200)


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found


def knows(options: str) -> bool:
    """Whether the provisioner has these options."""
    script = (ROOT / "provision/provision.sh").read_text()
    return all(f"    {option}) " in script for option in re.findall(r"--[a-z-]+", options))


def test_the_shell_scripts_are_found() -> None:
    found = scripts()
    if not found:
        pytest.skip("no git clone, so no list of its files")
    assert {"lab", "provision/provision.sh", "tests/provision.sh"} <= set(found)
    not_executable = [name for name in found if not os.access(ROOT / name, os.X_OK)]
    assert not_executable == []


def test_shellcheck_has_nothing_to_say() -> None:
    found = scripts()
    if not found:
        pytest.skip("no git clone, so no list of its files")
    done = subprocess.run(
        [need("shellcheck"), *found], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_vagrant_validates_the_machine(tmp_path: Path) -> None:
    # The provider's own program is not looked for, and nothing is written beside the Vagrantfile.
    env = {
        **os.environ,
        "HOME": str(tmp_path),
        "VAGRANT_HOME": str(tmp_path / "home"),
        "VAGRANT_DOTFILE_PATH": str(tmp_path / "dot"),
        "VAGRANT_CHECKPOINT_DISABLE": "1",
    }
    for box in ({}, {"P4LAB_BOX": "bento/debian-12", "P4LAB_PORT": "9999"}):
        done = subprocess.run(
            [need("vagrant"), "validate", "--ignore-provider"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            env={**env, **box},
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_vagrant_starts_the_provisioner_where_it_lies() -> None:
    """A script that Vagrant uploads runs far from the files that it copies."""
    text = (ROOT / "Vagrantfile").read_text()
    assert "bash /vagrant/provision/provision.sh" in text
    assert not re.search(r"path:.*provision\.sh", text)
    options = re.search(r"provision\.sh (.*)\"", text)
    assert options and knows(options[1])


def user_data(*arguments: str) -> str:
    """As it is printed, but packed in a moment: what is in it is the same."""
    done = subprocess.run(
        [str(ROOT / "provision/cloud-init"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "XZ_OPT": "-0"},
    )
    if "not a git clone" in done.stderr:
        pytest.skip("no git clone, so no list of its files")
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_yaml(text: str) -> Any:
    """A megabyte of text takes PyYAML's own loader seconds; libyaml's is there in most wheels."""
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def commands(config: dict[str, Any]) -> str:
    return "\n".join(" ".join(command) for command in config["runcmd"])


def test_cloud_init_gets_the_project_and_the_provisioner() -> None:
    text = user_data()
    assert text.startswith("#cloud-config\n")
    config = read_yaml(text)
    assert set(config) == {"write_files", "runcmd"}
    (archive,) = config["write_files"]
    content = io.BytesIO(base64.b64decode(archive["content"]))
    with tarfile.open(fileobj=content, mode="r:xz") as packed:
        provisioner = packed.getmember("provision/provision.sh")
        names = packed.getnames()
    assert provisioner.mode & 0o100, "it must be executable"
    assert {"lab", "requirements.lock", "p4/bier/v1model.p4"} <= set(names)
    assert not any(name.startswith((".venv", "target", ".lab")) for name in names)
    assert f"-xf {archive['path']}" in commands(config)
    assert knows(commands(config).split("provision.sh", 1)[1])


def test_wsl_gets_its_first_user_as_well() -> None:
    config = read_yaml(user_data("--wsl", "ann"))
    assert [user["name"] for user in config["users"]] == ["ann"]
    assert config["users"][0]["uid"] == 1000, "the provisioner sets the lab up for that one"
    conf = {entry["path"]: entry["content"] for entry in config["write_files"]}["/etc/wsl.conf"]
    assert "default=ann" in conf and "systemd=true" in conf


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--wsl"], "--wsl wants"),
        (["--wsl", "a b"], "not a user name"),
        (["--box"], "unknown option"),
    ],
)
def test_cloud_init_refuses_what_it_does_not_know(arguments: list[str], sentence: str) -> None:
    done = subprocess.run(
        [str(ROOT / "provision/cloud-init"), *arguments], capture_output=True, text=True
    )
    assert done.returncode != 0 and done.stdout == ""
    assert sentence in done.stderr


def test_lima_has_an_image_for_each_architecture_and_calls_the_provisioner() -> None:
    config = read_yaml((ROOT / "provision/lima.yaml").read_text())
    assert {image["arch"] for image in config["images"]} == {"x86_64", "aarch64"}
    for image in config["images"]:
        assert image["location"].endswith(
            {"x86_64": "amd64", "aarch64": "arm64"}[image["arch"]] + ".img"
        )
    (mount,) = config["mounts"]
    (step,) = config["provision"]
    assert f"{mount['mountPoint']}/provision/provision.sh --user" in step["script"]
    assert knows(step["script"].rsplit("provision.sh", 1)[1])
    for script in (step["script"], *(probe["script"] for probe in config["probes"])):
        assert script.startswith("#!/bin/bash\n")
        checked = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert checked.returncode == 0, checked.stderr


def test_the_dev_container_calls_the_provisioner_too() -> None:
    config = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    program, *options = config["onCreateCommand"].split(" ", 1)
    assert os.access(ROOT / program, os.X_OK)
    assert knows(options[0])
    assert config["forwardPorts"] == [8888]


def test_the_service_starts_a_notebook_with_options_that_p4lab_has() -> None:
    script = (ROOT / "provision/provision.sh").read_text()
    command = re.search(r'^ExecStart="\$into/lab" (notebook .*)$', script, re.MULTILINE)
    assert command
    told = CliRunner().invoke(app, ["notebook", "--help"], env={"COLUMNS": "200"}).stdout
    for option in re.findall(r"--[a-z-]+", command[1]):
        assert option in told


def test_a_token_is_read_from_its_file_and_never_empty(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(server, "own_notebook", lambda lab: (tmp_path / f"{lab}.ipynb", ""))
    monkeypatch.setenv("P4LAB_FOLDER", str(tmp_path / "mine"))
    token = tmp_path / "token"
    token.write_text("0123abcd\n")
    assert server.student_server("01-bier", 9000, token_file=token).token == "0123abcd"
    token.write_text("\n")
    with pytest.raises(LabError, match="is empty"):
        server.student_server("01-bier", 9000, token_file=token)
    done = CliRunner().invoke(app, ["notebook", "--token-file", str(tmp_path / "none")])
    assert done.exit_code != 0 and "No such file" in done.output


def test_what_goes_into_the_wheel_is_what_maturin_knows() -> None:
    """Any other folder there, and ./lab builds nothing on a fresh machine."""
    known = {"data", "scripts", "headers", "purelib", "platlib"}
    assert {path.name for path in (ROOT / "editors/jupyterlab").iterdir()} <= known
