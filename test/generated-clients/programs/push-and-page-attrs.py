"""By the client of openapi-python-client: pushes three records of each resource, reads them back, pages through them."""

import json
import os
from datetime import date

from bellhop_api_client import AuthenticatedClient, Client
from bellhop_api_client.api.changes import list_changes
from bellhop_api_client.api.push import push_groups, push_inventories, push_reservations
from bellhop_api_client.api.records import list_groups, list_inventories, list_reservations
from bellhop_api_client.api.requests import get_request
from bellhop_api_client.api.tokens import issue_token
from bellhop_api_client.models import (
    Group,
    GroupBlock,
    Inventory,
    IssueTokenBody,
    IssueTokenBodyGrantType,
    Reservation,
    RoomStay,
    RoomTypeInventory,
)
from bellhop_api_client.types import UNSET

BASE_URL = os.environ["BASE_URL"]
PROPERTY = os.environ["PROPERTY"]
TIME = "2026-06-01T08:30:00.123456Z"
HOTEL = {"client_code": "DEMO", "property_code": PROPERTY}
EVERY = (1, 2, 3)


def night(number):
    rooms = RoomTypeInventory(room_type_code="DLX", room_type_capacity=40, rooms_sold=31)
    made = Inventory(
        **HOTEL,
        create_date_time=TIME,
        occupancy_date=date(2027, 6, number),
        room_type_inventories=[rooms],
    )
    made["ownField"] = "kept"
    return made


def reservation(number):
    stay = RoomStay(arrival_date=date(2027, 6, 1), departure_date=date(2027, 6, 3), room_type_code="DLX")
    return Reservation(
        **HOTEL,
        last_modified_date_time=TIME,
        reservation_id=f"R-{number}",
        status="CONFIRMED",
        primary_sharer=True,
        sharers=["R-9"],
        room_stays=[stay],
    )


def group(number):
    block = GroupBlock(
        occupancy_date=date(2027, 6, 1), room_type_code="DLX", blocks=20, single_person_rate="140.00"
    )
    return Group(
        **HOTEL,
        last_modified_date_time=TIME,
        group_code=f"G-{number}",
        group_status_code="DEFINITE",
        start_date=date(2027, 6, 1),
        end_date=date(2027, 6, 2),
        group_blocks=[block],
    )


def all_of(client, operation):
    """The records of every page, and how many pages there were."""
    records, pages, cursor = [], 0, UNSET
    while pages == 0 or cursor is not None:
        page = operation.sync(client=client, **HOTEL, limit=2, cursor=cursor)
        records += page.items
        pages += 1
        cursor = page.next_cursor
    return records, pages


form = IssueTokenBody(
    grant_type=IssueTokenBodyGrantType.CLIENT_CREDENTIALS,
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
)
token = issue_token.sync(client=Client(base_url=BASE_URL), body=form)
with AuthenticatedClient(base_url=BASE_URL, token=token.access_token) as client:
    for push, made in ((push_inventories, night), (push_reservations, reservation), (push_groups, group)):
        accepted = push.sync(client=client, body=[made(n) for n in EVERY])
        outcome = get_request.sync(accepted.request_id, client=client, prefer="wait=10")
        assert (outcome.status, outcome.counts.applied) == ("applied", 3), outcome
        for record in outcome.records:
            print("outcome", record.outcome)
            for warning in record.warnings:
                print("warning", warning.code)
    print("pushed")

    nights, inventory_pages = all_of(client, list_inventories)
    reservations, reservation_pages = all_of(client, list_reservations)
    groups, group_pages = all_of(client, list_groups)
    assert nights == [night(n) for n in EVERY], nights
    assert reservations == [reservation(n) for n in EVERY], reservations
    assert groups == [group(n) for n in EVERY], groups
    print("read back")
    assert (inventory_pages, reservation_pages, group_pages) == (2, 2, 2)
    print("paged")

    # The generator knows no NDJSON: the lines of the change feed are the content of the detailed answer.
    answer = list_changes.sync_detailed(client=client, **HOTEL)
    lines = [json.loads(line) for line in answer.content.splitlines()]
    assert [line["type"] for line in lines] == ["change"] * 9 + ["cursor"], lines
