"""The container, the manifests and the compose file: what tools find, and what each has to hold to."""

import http.server
import os
import re
import subprocess
import threading
import tomllib

import pytest
import yaml
from checkout import ROOT
from tools import program

FOLDER = ROOT / "deploy"
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")
MANIFESTS = {
    f"{path.stem}: {one['kind']} {one['metadata']['name']}": one
    for path in sorted((FOLDER / "kubernetes").rglob("*.yaml"))
    for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
}
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
OURS = [name for name in MANIFESTS if "rmqalloc" in name and re.search("Deployment|CronJob", name)]
CONSUMERS = [name for name in MANIFESTS if name.startswith("consumer-") and "Service" not in name]


def pods_of(manifest):
    spec = manifest["spec"]
    return (spec["jobTemplate"]["spec"] if manifest["kind"] == "CronJob" else spec)["template"]


# --- The image ---


@pytest.mark.needs("hadolint")
def test_hadolint_finds_nothing_and_sees_a_fault():
    def found(text):
        done = subprocess.run(
            [program("hadolint"), "-"], input=text, capture_output=True, text=True, timeout=60
        )
        return done.returncode, done.stdout

    assert found(DOCKERFILE) == (0, "")
    assert "DL3006" in found("FROM debian\n")[1]


def test_the_image_runs_the_service_as_nobody_and_writes_to_its_volume_alone():
    final = DOCKERFILE.split("\nFROM ")[-1]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert re.findall(r"^VOLUME (.+)$", final, re.MULTILINE) == ["/data"]
    assert re.search(r'^HEALTHCHECK .*\\\n +CMD \["python", .*/healthz', final, re.MULTILINE)
    assert 'ENTRYPOINT ["rmqalloc"]' in final and 'CMD ["serve", "--host", "0.0.0.0"' in final
    assert "gcc" not in final and "PYTHONDONTWRITEBYTECODE=1" in final


def test_the_context_is_what_the_image_copies_and_all_that_the_wheel_needs():
    copied = {
        one
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for one in line.split()[:-1]
    }
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert "*" in ignored and all((ROOT / one).exists() for one in copied)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {
        one.removesuffix("*")
        for one in settings["tool"]["setuptools"]["packages"]["find"]["include"]
    }
    read = {settings["project"]["readme"], *settings["project"]["license-files"]}
    assert copied >= packages | read | {"pyproject.toml", "setup.py", "pyx"}


def test_there_is_a_python_of_that_release():
    [python] = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE, re.MULTILINE)
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "classifiers"
    ]
    assert f"Programming Language :: Python :: {python}" in classifiers


# --- Kubernetes ---


@pytest.mark.needs("kubernetes-validate")
@pytest.mark.parametrize("name", [name for name in MANIFESTS if "ScaledObject" not in name])
def test_a_manifest_holds_to_the_schema_of_kubernetes(name):
    import kubernetes_validate

    kubernetes_validate.validate(MANIFESTS[name], "1.34", strict=True)
    held = "data" if "data" in MANIFESTS[name] else "spec"
    spoilt = MANIFESTS[name] | {held: MANIFESTS[name][held] | {"nothing": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(spoilt, "1.34", strict=True)


@pytest.mark.parametrize("name", OURS)
def test_our_pods_have_no_rights(name):
    pod = pods_of(MANIFESTS[name])["spec"]
    assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == int(re.search(r"USER (\d+)", DOCKERFILE)[1])
    for container in pod["containers"]:
        context = container["securityContext"]
        assert (
            context["readOnlyRootFilesystem"] is True
            and context["allowPrivilegeEscalation"] is False
        )
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"].keys() == {"memory"}
        assert not container["image"].endswith(":latest") and ":" in container["image"]
        mounted = {one["name"] for one in container["volumeMounts"]}
        assert mounted == {one["name"] for one in pod["volumes"]}


def test_our_manifests_name_one_another():
    by_kind = {(one["kind"], one["metadata"]["name"]): one for one in MANIFESTS.values()}
    deployment, service = by_kind["Deployment", "rmqalloc"], by_kind["Service", "rmqalloc"]
    labels = pods_of(deployment)["metadata"]["labels"]
    assert deployment["spec"]["selector"]["matchLabels"] == service["spec"]["selector"] == labels
    job = pods_of(by_kind["CronJob", "rmqalloc-check"])["metadata"]["labels"]
    assert not service["spec"]["selector"].items() <= job.items()  # it serves nothing
    policy = by_kind["NetworkPolicy", "rmqalloc"]["spec"]["podSelector"]["matchLabels"]
    assert policy.items() <= job.items() and policy.items() <= labels.items()
    for name in OURS:
        for volume in pods_of(MANIFESTS[name])["spec"]["volumes"]:
            if "persistentVolumeClaim" in volume:
                assert (
                    "PersistentVolumeClaim",
                    volume["persistentVolumeClaim"]["claimName"],
                ) in by_kind


def test_the_scaled_object_ends_where_clients_have_no_work():
    [scaled] = [one for one in MANIFESTS.values() if one["kind"] == "ScaledObject"]
    spec = scaled["spec"]
    assert scaled["apiVersion"] == "keda.sh/v1alpha1"
    assert spec["scaleTargetRef"]["name"] in {
        one["metadata"]["name"] for one in map(MANIFESTS.get, CONSUMERS)
    }
    assert 0 < spec["minReplicaCount"] < spec["maxReplicaCount"]
    [trigger] = spec["triggers"]
    assert trigger["type"] == "prometheus" and trigger["metadata"]["ignoreNullValues"] == "false"
    assert "rmqalloc_group_lag_messages" in trigger["metadata"]["query"]


# --- The hook before a stop ---


class Guard(http.server.BaseHTTPRequestHandler):
    """Answers with one status after the other, the last again and again."""

    statuses, asked = [], []

    def do_GET(self):
        status = Guard.statuses[min(len(Guard.asked), len(Guard.statuses) - 1)]
        Guard.asked.append((self.path, self.headers.get("Authorization")))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def stopped(tmp_path):
    """Run the hook of a consumer against answers of the service; time passes as ``sleep`` is
    called.
    """
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guard)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    programs, clock = tmp_path / "bin", tmp_path / "clock"
    programs.mkdir()
    for name, text in {
        "sleep": f"echo $(($(cat {clock}) + $1)) > {clock}.new && mv {clock}.new {clock}",
        "date": f"cat {clock}",
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "token").write_text("secret\n")

    def run(name, *statuses):
        Guard.statuses, Guard.asked = list(statuses), []
        clock.write_text("1000\n")
        [container] = pods_of(MANIFESTS[name])["spec"]["containers"]
        shell, option, script = container["lifecycle"]["preStop"]["exec"]["command"]
        script = script.replace("http://rmqalloc:8080", f"http://127.0.0.1:{server.server_port}")
        script = script.replace("/run/secrets/rmqalloc/token", str(tmp_path / "token"))
        there = {"PATH": f"{programs}:{os.environ['PATH']}", "POD_IP": "10.0.0.7", "NO_PROXY": "*"}
        done = subprocess.run(
            [shell, option, script], env=there, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        return int(clock.read_text()) - 1000

    yield run
    server.shutdown()
    server.server_close()


@pytest.mark.thorough
@pytest.mark.needs("curl")
@pytest.mark.parametrize("name", CONSUMERS)
def test_the_hook_waits_until_the_client_may_stop_and_not_for_ever(name, stopped):
    assert stopped(name, 200) == 0
    assert Guard.asked == [("/v1/groups/billing/guard?stop=10.0.0.7", "Bearer secret")]
    assert stopped(name, 409, 503, 200) == 6
    assert stopped(name, 409) == 90
    pod = pods_of(MANIFESTS[name])["spec"]
    assert pod["terminationGracePeriodSeconds"] >= 90 + 30


def test_consumers_may_ask_and_bear_the_token():
    policy = next(one for one in MANIFESTS.values() if one["kind"] == "NetworkPolicy")
    admitted = policy["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
    for name in CONSUMERS:
        template = pods_of(MANIFESTS[name])
        assert admitted.items() <= template["metadata"]["labels"].items()
        assert template["spec"]["volumes"][0]["secret"]["secretName"] == "rmqalloc-token"


# --- Compose ---


def test_what_is_tried_on_is_reachable_from_this_machine_alone():
    for name, service in COMPOSE["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert "build" in service or re.search(r":v?\d+\.\d+\.\d+$", service["image"]), name
        assert set(service.get("depends_on", ())) <= COMPOSE["services"].keys()
    ours = COMPOSE["services"]["rmqalloc"]
    assert ours["read_only"] is True and ours["cap_drop"] == ["ALL"]
    assert (FOLDER / ours["build"]["context"] / ours["build"]["dockerfile"]).is_file()
    mounted = [
        one.split(":")[0]
        for service in COMPOSE["services"].values()
        for one in service.get("volumes", ())
    ]
    assert all(
        (FOLDER / one).exists() if one.startswith(".") else one in COMPOSE["volumes"]
        for one in mounted
    )
