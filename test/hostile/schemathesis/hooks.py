"""What Schemathesis has to know of Bellhop beyond its document.

A schema describes one value at a time. `before_call` corrects what depends on something else (what this client was
granted, which of two dates is the earlier, which ids exist), so that a valid request can be accepted. Nothing that
the document alone makes invalid is corrected.
"""
import base64
import datetime
import itertools
import json
import os
import re

import requests
import schemathesis
from hypothesis import strategies
from schemathesis.core.parameters import ParameterLocation

ADDRESS = os.environ["BELLHOP_ADDRESS"]
CODES = {"clientCode": "ACME", "propertyCode": "LON01"}
BACKFILLS = "/api/public/v1/backfills"


# The pattern beside it has no calendar.
schemathesis.openapi.format("date-time", strategies.datetimes().map(lambda time: time.isoformat() + "Z"))


def bearer():
    return f"Bearer {os.environ['BELLHOP_TOKEN']}"


def basic(name):
    pair = f"{os.environ[f'BELLHOP_{name}_ID']}:{os.environ[f'BELLHOP_{name}_SECRET']}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


@schemathesis.auth(refresh_interval=None).apply_to(path_regex="^/api/(public|insight)/")
class Bearer:
    def get(self, case, context):
        return bearer()

    def set(self, case, data, context):
        case.headers["Authorization"] = data


@schemathesis.auth(refresh_interval=None).apply_to(path_regex="^/api/oauth2/")
class Basic:
    def get(self, case, context):
        return {name: basic(name) for name in ("CLIENT", "INTROSPECTOR")}

    def set(self, case, data, context):
        # Credentials stand in one place (RFC 6749 section 2.3): a form that has some keeps them.
        body = case.body if isinstance(case.body, dict) else {}
        if "client_id" not in body and "client_secret" not in body:
            name = "INTROSPECTOR" if case.path.endswith("/introspect") else "CLIENT"
            case.headers["Authorization"] = data[name]


# Failed authentications are limited by address: each request comes from one of its own.
addresses = itertools.count()


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.headers is not None:
        number = next(addresses)
        case.headers["X-Forwarded-For"] = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    correct_query(case)
    correct_headers(case)
    correct_path(case)
    correct_body(case)


def is_valid(case, location):
    return case.meta is None or not case.meta.is_negative_at(location)


def is_code(value):
    return isinstance(value, str) and 0 < len(value) <= 128 and "\0" not in value


def grant(values):
    """Another client's codes are a 403, whatever else is wrong."""
    for name, code in CODES.items():
        if is_code(values.get(name)):
            values[name] = code


TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d((?::\d\d(?:\.\d+)?)?)Z")


def is_calendar_time(text):
    try:
        return datetime.datetime.fromisoformat(text[:19].rstrip("Z")) is not None
    except ValueError:
        return False


def moment(text):
    """A date or time as a text whose order is its own: fractions have any number of digits."""
    return re.sub(r"(?:\.(\d+))?Z$", lambda found: "." + (found[1] or "").ljust(6, "0"), text)


def put_in_order(values, first, last):
    start, end = values.get(first), values.get(last)
    if isinstance(start, str) and isinstance(end, str) and moment(start) > moment(end):
        values[first], values[last] = end, start


def correct_query(case):
    query = case.query
    if not isinstance(query, dict):
        return
    grant(query)
    if not is_valid(case, ParameterLocation.QUERY):
        return
    for name, code in CODES.items():
        # They stand together.
        if any(other in query for other in CODES) and name in case.operation.query:
            query[name] = code
    for name, value in query.items():
        # Lengths are tried out by the pattern alone, which has no calendar; the form is kept, and so the length.
        if isinstance(value, str) and TIMESTAMP.fullmatch(value) and not is_calendar_time(value):
            query[name] = TIMESTAMP.sub(r"2026-01-01T00:00\1Z", re.sub(r":\d\d(?=[.Z])", ":00", value))
    for first, last in (("from", "to"), ("since", "until"), ("since", "asOf")):
        put_in_order(query, first, last)
    if case.path.startswith("/api/insight/") and "from" in query and "to" in query:
        # A question is about three years of nights at most.
        if int(query["to"][:4]) - int(query["from"][:4]) > 2:
            query["to"] = query["from"]
    if "cursor" in query:
        # A text that no page gave is refused, whatever it looks like.
        known = cursors.get(question(case))
        del query["cursor"]
        if known is not None:
            query["cursor"] = known
        if query.get("from") == "now":
            del query["from"]
    if "wait" in query:
        # Every second of a long poll is a second of the campaign.
        query["wait"] = min(int(query["wait"]), 1)


cursors = {}


def question(case):
    # Where the change feed begins is not part of its question.
    apart = ("cursor", "limit", "wait", "from") if case.path.endswith("/changes") else ("cursor", "limit")
    asked = {name: value for name, value in case.query.items() if name not in apart}
    return case.operation.label, json.dumps([case.path_parameters, asked], sort_keys=True, default=str)


@schemathesis.hook
def after_call(context, case, response):
    keep_cursor(case, response)
    remove_oldest_webhook(case, response)


def keep_cursor(case, response):
    if response.status_code != 200 or not isinstance(case.query, dict) or "cursor" not in case.operation.query:
        return
    text = response.content.decode().rstrip("\n").rsplit("\n", 1)[-1]
    if text.startswith("{"):
        answer = json.loads(text)
        cursor = answer.get("nextCursor") or answer.get("cursor")
        if cursor is not None:
            cursors[question(case)] = cursor


endpoints = []


def remove_oldest_webhook(case, response):
    """A client has ten endpoints."""
    if response.status_code != 201 or not case.path.endswith("/webhooks"):
        return
    endpoints.append(json.loads(response.content)["endpointId"])
    if len(endpoints) > 8:
        post(f"/api/public/v1/webhooks/{endpoints.pop(0)}/remove", {})


def post(path, body):
    return requests.post(ADDRESS + path, json=body, headers={"Authorization": bearer()}, timeout=20).json()


open_backfill = {}


def kept_backfill():
    """A backfill that batches of this campaign may name."""
    if "id" not in open_backfill:
        span = {"from": "2020-01-01", "to": "2029-12-31"}
        manifest = {**CODES, "resources": [{"resource": name, **span} for name in ("inventories", "reservations", "groups")]}
        open_backfill["id"] = post(BACKFILLS, manifest)["backfillId"]
    return open_backfill["id"]


def correct_headers(case):
    if case.headers is None or not is_valid(case, ParameterLocation.HEADER):
        return
    if "Backfill-Id" in case.headers:
        case.headers["Backfill-Id"] = kept_backfill()
    if "Idempotency-Key" in case.headers:
        # A key names one batch: the same with another is refused.
        case.headers["Idempotency-Key"] = f"{case.headers['Idempotency-Key'][:240]}{next(addresses)}"
    if "Content-Encoding" in case.headers:
        # Schemathesis sends the body as it is, whatever it says of it.
        case.headers["Content-Encoding"] = "identity"


def closed_backfill():
    """A backfill that has a statement."""
    if "closed" not in open_backfill:
        span = {"from": "2020-01-01", "to": "2020-01-01"}
        backfill = post(BACKFILLS, {**CODES, "resources": [{"resource": "groups", **span}]})["backfillId"]
        open_backfill["closed"] = post(f"{BACKFILLS}/{backfill}/close", {"acceptGaps": True})["backfillId"]
    return open_backfill["closed"]


def correct_path(case):
    if not case.path_parameters or "backfillId" not in case.path_parameters:
        return
    if case.path.endswith("/statement") and is_valid(case, ParameterLocation.PATH):
        case.path_parameters["backfillId"] = closed_backfill()
    elif case.method == "POST" and case.path_parameters["backfillId"] == open_backfill.get("id"):
        # Batches name this one: it stays open.
        case.path_parameters["backfillId"] = closed_backfill()


def correct_body(case):
    body = case.body
    if not isinstance(body, (dict, list)):
        return
    for one in body if isinstance(body, list) else [body]:
        if isinstance(one, dict) and case.path.startswith("/api/public/"):
            grant(one)
    if not is_valid(case, ParameterLocation.BODY):
        return
    correct_values(body)
    if case.path == BACKFILLS:
        correct_manifest(body)
    if "/webhooks" in case.path:
        correct_webhook(body)
    if case.path.endswith("/redrive"):
        # No message is given up within a campaign: whichever is named is a 404, as a missing endpoint is.
        body.pop("webhookId", None)


def members(value):
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def correct_values(value):
    """
    The end of a period is not before its start. Whole numbers as text fit 32 bits, whatever their length. A JSON number
    of a decimal is refused for digits: more than 38.
    """
    if isinstance(value, dict):
        for first, last in (("startDate", "endDate"), ("arrivalDate", "departureDate"), ("from", "to")):
            put_in_order(value, first, last)
    for name, one in members(value):
        correct_values(one)
        if isinstance(one, str) and re.fullmatch(r"-?[0-9]{10,}([.][0-9]+)?", one):
            value[name] = one[:9]
        elif isinstance(one, (int, float)) and abs(one) >= 2**53:
            value[name] = 2**53 - 1
        elif isinstance(one, float):
            value[name] = round(one, 6)


def correct_manifest(body):
    """Each resource stands once, with a span of ten years at most."""
    once = {}
    for one in body["resources"]:
        once.setdefault(one["resource"], one)
        if int(one["to"][:4]) - int(one["from"][:4]) > 9:
            one["to"] = one["from"]
    body["resources"] = list(once.values())


def correct_webhook(body):
    """Whether an address is public is not in its text; a property belongs to a client code."""
    if isinstance(body.get("url"), str):
        body["url"] = re.sub("^https://[^/?#]*", "https://partner.example", body["url"])[:2048]
    if body.get("propertyCode") is not None:
        body.update(CODES)
    elif "clientCode" in body:
        body["propertyCode"] = None


@schemathesis.deserializer("text/csv")
def read_csv(context, response):
    return response.content.decode()


lines_read = itertools.count()


@schemathesis.deserializer("application/x-ndjson")
def read_line(context, response):
    """The document's schema is that of a line: each answer shows another of its lines."""
    lines = response.content.decode().splitlines()
    return json.loads(lines[next(lines_read) % len(lines)])
