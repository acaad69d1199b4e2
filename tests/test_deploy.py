"""The files in `deploy/`: their schemas, and that what they name exists.

No container is built or started here; what can be held without one is.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml
from dagster._config import process_config
from dagster_k8s import K8sRunLauncher

from orchestration.cli.program import program

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
KUBERNETES = "1.31"
OWN_IMAGE = "scoreline"
SERVICE_KEYS = {
    *("image", "build", "environment", "env_file", "volumes", "depends_on", "restart"),
    *("command", "ports", "healthcheck"),
}


def documents(file: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(file.read_text(encoding="utf-8")) if each]


def compose() -> dict[str, Any]:
    (found,) = documents(DEPLOY / "compose.yaml")
    return found


def pods() -> Iterator[dict[str, Any]]:
    for file in MANIFESTS:
        for each in documents(file):
            spec = each.get("spec", {})
            job = spec.get("jobTemplate", {}).get("spec", spec)
            if "template" in job:
                yield job["template"]["spec"]


def own_commands() -> list[list[str]]:
    """The commands of containers from our image, each as words."""
    services = [each for each in compose()["services"].values() if each["image"] == OWN_IMAGE]
    containers = [each for pod in pods() for each in pod["containers"]]
    given = [each["command"] for each in services]
    given += [each["command"] for each in containers if each["image"] == OWN_IMAGE]
    given += [
        each["readinessProbe"]["exec"]["command"]
        for each in containers
        if each["image"] == OWN_IMAGE and "exec" in each.get("readinessProbe", {})
    ]
    (default,) = re.findall(r"^CMD (\[.*\])$", dockerfile(), re.MULTILINE)
    found = [yaml.safe_load(default)]
    for words in given:
        if words[:2] == ["sh", "-c"]:
            found += [shlex.split(each.removeprefix("exec ")) for each in words[2].split(" && ")]
        else:
            found.append(words)
    return found


def dockerfile() -> str:
    return (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.stem)
def test_manifests_match_the_schema(file: Path) -> None:
    for each in documents(file):
        kubernetes_validate.validate(each, KUBERNETES, strict=True)


def test_an_invalid_manifest_is_rejected() -> None:
    (claim,) = documents(DEPLOY / "kubernetes" / "volume.yaml")
    claim["spec"]["accessMode"] = "ReadWriteMany"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(claim, KUBERNETES, strict=True)


def test_the_kustomization_lists_every_manifest() -> None:
    (all_of_it,) = documents(DEPLOY / "kustomization.yaml")
    assert sorted(all_of_it["resources"]) == [f"kubernetes/{file.name}" for file in MANIFESTS]
    for generated in all_of_it["configMapGenerator"]:
        for name in generated.get("files", []):
            assert (DEPLOY / name.rpartition("=")[2]).is_file()
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert all_of_it["images"][0]["newTag"] == tomllib.load(file)["project"]["version"]


def test_runs_on_kubernetes_have_the_settings_and_image_of_the_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (kustomization,) = documents(DEPLOY / "kustomization.yaml")
    (image,) = kustomization["images"]
    literals = kustomization["configMapGenerator"][1]["literals"]
    assert f"SCORELINE_IMAGE={image['newName']}:{image['newTag']}" in literals
    (settings,) = documents(DEPLOY / "dagster-kubernetes.yaml")
    launcher = settings.pop("run_launcher")
    assert [settings] == documents(DEPLOY / "dagster.yaml")
    monkeypatch.setenv("SCORELINE_IMAGE", "scoreline:test")
    result = process_config(K8sRunLauncher.config_type(), launcher["config"])
    assert result.success, result.errors
    assert result.value is not None
    assert result.value["job_image"] == "scoreline:test"
    maps = {each["name"] for each in kustomization["configMapGenerator"]}
    assert {*result.value["env_config_maps"], result.value["instance_config_map"]} == maps
    assert kustomization["generatorOptions"] == {"disableNameSuffixHash": True}
    names = {each["metadata"]["name"] for each in documents(DEPLOY / "kubernetes/permissions.yaml")}
    assert names == {result.value["service_account_name"]}


def test_pods_refer_to_existing_volumes_and_config_maps() -> None:
    (all_of_it,) = documents(DEPLOY / "kustomization.yaml")
    maps = {each["name"] for each in all_of_it["configMapGenerator"]}
    claims = {
        each["metadata"]["name"]
        for file in MANIFESTS
        for each in documents(file)
        if each["kind"] == "PersistentVolumeClaim"
    }
    for pod in pods():
        for volume in pod.get("volumes", []):
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
            else:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
        for container in pod["containers"]:
            if container["image"] != OWN_IMAGE:
                continue
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert f"--uid {pod['securityContext']['runAsUser']} " in dockerfile()
            mounted = {each["name"] for each in container["volumeMounts"]}
            assert mounted == {each["name"] for each in pod["volumes"]}


def test_compose_services_refer_to_existing_services_and_files() -> None:
    document = compose()
    assert set(document) == {"name", "x-scoreline", "services", "volumes"}
    for name, service in document["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        for needed in service.get("depends_on", {}):
            assert "healthcheck" in document["services"][needed]
        for volume in service.get("volumes", []):
            source, _, _ = volume.partition(":/")
            if source.startswith("./"):
                assert (DEPLOY / source).is_file()
            elif not source.startswith("$"):
                assert source in document["volumes"]
    for service in document["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_no_file_contains_a_secret() -> None:
    for file in [*DEPLOY.glob("*.yaml"), *MANIFESTS]:
        for line in file.read_text(encoding="utf-8").splitlines():
            if "PASSWORD:" in line:
                assert "${" in line or "env:" in line, line


@pytest.mark.parametrize("words", own_commands(), ids=" ".join)
def test_every_command_exists_with_its_options(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for word in words[1:] if word.startswith("--")]
    if words[0] == "scoreline":
        command = program.commands.get(words[1]) or program.get_command(None, words[1])  # type: ignore[arg-type]
        assert command is not None
        known = {name for each in command.params for name in each.opts}
        assert set(options) <= known
        return
    names = [word for word in words[1:] if re.fullmatch(r"[a-z][a-z-]*", word)]
    depth = 0 if not names or words[1].startswith("--") else min(2, len(names))
    (script,) = entry_points(group="console_scripts", name=words[0])
    monkeypatch.setattr("sys.argv", [words[0], *words[1 : 1 + depth], "--help"])
    with pytest.raises(SystemExit) as ended:
        script.load()()
    assert not ended.value.code
    said = capsys.readouterr().out
    assert [option for option in options if option not in said] == []


def test_every_variable_is_read() -> None:
    """By our code, by Dagster's settings, or by PostgreSQL's own image."""
    instance = (DEPLOY / "dagster-kubernetes.yaml").read_text(encoding="utf-8")
    read = set(re.findall(r"env: ([A-Z_]+)", instance))
    read |= {"DAGSTER_HOME", "DAGSTER_DISABLE_TELEMETRY", "PYTHONSAFEPATH", "PYTHONUTF8", "PATH"}
    for room in ("orchestration", "warehouse"):
        for file in (ROOT / room).rglob("*.py"):
            read |= set(re.findall(r'"(SCORELINE_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    # A lake's password comes from the variable that the configuration names, as in the guide.
    guide = (ROOT / "docs" / "scale-out.md").read_text(encoding="utf-8")
    read |= set(re.findall(r"password_env: ([A-Z_]+)", guide))
    (all_of_it,) = documents(DEPLOY / "kustomization.yaml")
    literals = [
        text for each in all_of_it["configMapGenerator"] for text in each.get("literals", [])
    ]
    named = {text.partition("=")[0] for text in literals}
    named |= {
        name
        for each in compose()["services"].values()
        if each["image"] == OWN_IMAGE
        for name in each["environment"]
    }
    named |= {
        each["name"]
        for pod in pods()
        for container in pod["containers"]
        if container["image"] == OWN_IMAGE
        for each in container.get("env", [])
    }
    named |= set(re.findall(r"\b([A-Z][A-Z_]+)=/?[a-z1]", dockerfile())) - {
        "EXTRAS",
        "PIP_NO_CACHE_DIR",
        "PIP_DISABLE_PIP_VERSION_CHECK",
    }
    assert named >= {"SCORELINE_IMAGE", "SCORELINE_CONFIG", "DAGSTER_POSTGRES_PASSWORD"}
    assert named <= read


def test_the_image_copies_existing_files_and_runs_without_root() -> None:
    stages = dockerfile().split("\nFROM ")
    assert "\nUSER 10001\n" in stages[-1]
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile(), re.MULTILINE):
        for source in line.split()[:-1]:
            assert (ROOT / source).exists()
            assert f"!{source}" in (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert dockerfile().count("-c constraints.txt") == dockerfile().count("pip install")
