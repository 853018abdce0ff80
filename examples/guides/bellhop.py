"""Helper functions of the guides: a token, a push, its outcome, reading. Needs only the standard library."""

import json
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone

BASE_URL = os.environ.get("BASE_URL", "http://127.0.0.1:8080")
PROPERTY = os.environ.get("PROPERTY", "LON01")

# The token of all programs in this folder, by service and client; the second line is the Unix time to renew it.
SERVICE_AND_CLIENT = re.sub("[^A-Za-z0-9]", "_", BASE_URL + "-" + os.environ.get("CLIENT_ID", ""))
TOKEN_FILE = os.environ.get("TOKEN_FILE", ".bellhop-token-" + SERVICE_AND_CLIENT)


def token():
    """Returns the access token, and renews it a minute before it expires, or sooner if it lasts less than ten."""
    try:
        with open(TOKEN_FILE) as file:
            value, renew_at = file.read().split()
        if time.time() < int(renew_at):
            return value
    except (FileNotFoundError, ValueError):
        pass
    form = {
        "grant_type": "client_credentials",
        "client_id": os.environ["CLIENT_ID"],
        "client_secret": os.environ["CLIENT_SECRET"],
    }
    body = urllib.parse.urlencode(form).encode()
    try:
        with urllib.request.urlopen(BASE_URL + "/api/oauth2/token", body, timeout=30) as answer:
            given = json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error.code}: {error.read().decode()}") from None
    with open(os.open(TOKEN_FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        early = min(60, given["expires_in"] // 10)
        print(given["access_token"], int(time.time()) + given["expires_in"] - early, sep="\n", file=file)
    return given["access_token"]


def call(method, path, body=None, headers=None):
    """Returns status, headers and JSON (None if the body is empty) of a call, also of a failed one."""
    request = urllib.request.Request(BASE_URL + path, method=method, headers=headers or {})
    request.add_header("Authorization", "Bearer " + token())
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    if answer.status in (401, 403) and os.path.exists(TOKEN_FILE):
        os.remove(TOKEN_FILE)
    with answer:
        content = answer.read()
    return answer.status, answer.headers, json.loads(content) if content else None


def push(resource, records, headers=None):
    """Sends a batch and returns the id of the request. Raises unless the response is 202."""
    status, _, answer = call("POST", "/api/public/v1/" + resource, records, headers)
    if status != 202:
        raise RuntimeError(f"{status}: {answer}")
    return answer["requestId"]


def get(path, **parameters):
    """Returns the JSON of an address. Raises unless the response is 200."""
    query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
    status, _, answer = call("GET", path + query)
    if status != 200:
        raise RuntimeError(f"{status}: {answer}")
    return answer


def outcome(request_id):
    """Waits until a request is applied and returns its outcome."""
    while True:
        path = "/api/public/v1/requests/" + request_id
        status, _, answer = call("GET", path, headers={"Prefer": "wait=5"})
        if status != 200:
            raise RuntimeError(f"{status}: {answer}")
        if answer["status"] == "applied":
            return answer


def now():
    """Returns the current time as a source time, to the microsecond."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
