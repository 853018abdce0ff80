// By the Go client of openapi-generator: pushes three records of each resource, reads them back, pages through them.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	bellhop "github.com/GIT_USER_ID/GIT_REPO_ID"
	"golang.org/x/oauth2"
)

const clientCode, sourceTime = "DEMO", "2026-06-01T08:30:00.123456Z"

var property = os.Getenv("PROPERTY")

func night(number int) bellhop.Inventory {
	rooms := *bellhop.NewRoomTypeInventory("DLX", 40, 31)
	made := *bellhop.NewInventory(clientCode, sourceTime, property, fmt.Sprintf("2027-06-0%d", number), []bellhop.RoomTypeInventory{rooms})
	made.AdditionalProperties = map[string]interface{}{"ownField": "kept"}
	return made
}

func reservation(number int) bellhop.Reservation {
	stay := *bellhop.NewRoomStay("2027-06-01", "2027-06-03", "DLX")
	made := *bellhop.NewReservation(clientCode, property, sourceTime, fmt.Sprintf("R-%d", number), "CONFIRMED", []bellhop.RoomStay{stay})
	made.SetPrimarySharer(true)
	made.SetSharers([]interface{}{"R-9"})
	return made
}

func group(number int) bellhop.Group {
	block := *bellhop.NewGroupBlock("2027-06-01", "DLX", 20)
	block.SetSinglePersonRate("140.00")
	return *bellhop.NewGroup(clientCode, property, sourceTime, fmt.Sprintf("G-%d", number), "DEFINITE", "2027-06-01", "2027-06-02", []bellhop.GroupBlock{block})
}

func three[Record any](made func(int) Record) []Record {
	return []Record{made(1), made(2), made(3)}
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// answered gives the value of a call, or ends the program with what the service answered.
func answered[Value any](value Value, err error) Value {
	if refused, isRefused := err.(*bellhop.GenericOpenAPIError); isRefused {
		log.Fatalf("%s: %s", refused.Error(), refused.Body())
	}
	return must(value, err)
}

// same ends the program where two values are not the same JSON.
func same(found, expected interface{}) {
	one, other := must(json.Marshal(found)), must(json.Marshal(expected))
	if string(one) != string(other) {
		log.Fatalf("%s is not %s", one, other)
	}
}

// allOf gives the records of every page, and how many pages there were.
func allOf[Record any](fetch func(cursor *string) ([]Record, *string)) ([]Record, int) {
	var all []Record
	var cursor *string
	for pages := 1; ; pages++ {
		records, next := fetch(cursor)
		all = append(all, records...)
		if next == nil {
			return all, pages
		}
		cursor = next
	}
}

func main() {
	configuration := bellhop.NewConfiguration()
	configuration.Servers = bellhop.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	client := bellhop.NewAPIClient(configuration)

	token, _, err := client.TokensAPI.IssueToken(context.Background()).GrantType("client_credentials").
		ClientId(os.Getenv("CLIENT_ID")).ClientSecret(os.Getenv("CLIENT_SECRET")).Execute()
	tokens := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: answered(token, err).GetAccessToken()})
	ctx := context.WithValue(context.Background(), bellhop.ContextOAuth2, tokens)

	inventories, _, err := client.PushAPI.PushInventories(ctx).Inventory(three(night)).Execute()
	ids := []string{answered(inventories, err).GetRequestId()}
	reservations, _, err := client.PushAPI.PushReservations(ctx).Reservation(three(reservation)).Execute()
	ids = append(ids, answered(reservations, err).GetRequestId())
	groups, _, err := client.PushAPI.PushGroups(ctx).Group(three(group)).Execute()
	ids = append(ids, answered(groups, err).GetRequestId())
	for _, id := range ids {
		status, _, err := client.RequestsAPI.GetRequest(ctx, id).Prefer("wait=10").Execute()
		same([]interface{}{answered(status, err).GetStatus(), status.Counts.Applied}, []interface{}{"applied", 3})
		for _, record := range status.Records {
			fmt.Println("outcome", record.Outcome)
			for _, warning := range record.Warnings {
				fmt.Println("warning", warning.Code)
			}
		}
	}
	fmt.Println("pushed")

	nightsFound, nightPages := allOf(func(cursor *string) ([]bellhop.Inventory, *string) {
		request := client.RecordsAPI.ListInventories(ctx).ClientCode(clientCode).PropertyCode(property).Limit(2)
		if cursor != nil {
			request = request.Cursor(*cursor)
		}
		page, _, err := request.Execute()
		return answered(page, err).Items, page.NextCursor.Get()
	})
	reservationsFound, reservationPages := allOf(func(cursor *string) ([]bellhop.Reservation, *string) {
		request := client.RecordsAPI.ListReservations(ctx).ClientCode(clientCode).PropertyCode(property).Limit(2)
		if cursor != nil {
			request = request.Cursor(*cursor)
		}
		page, _, err := request.Execute()
		return answered(page, err).Items, page.NextCursor.Get()
	})
	groupsFound, groupPages := allOf(func(cursor *string) ([]bellhop.Group, *string) {
		request := client.RecordsAPI.ListGroups(ctx).ClientCode(clientCode).PropertyCode(property).Limit(2)
		if cursor != nil {
			request = request.Cursor(*cursor)
		}
		page, _, err := request.Execute()
		return answered(page, err).Items, page.NextCursor.Get()
	})
	same(nightsFound, three(night))
	same(reservationsFound, three(reservation))
	same(groupsFound, three(group))
	fmt.Println("read back")
	same([]int{nightPages, reservationPages, groupPages}, []int{2, 2, 2})
	fmt.Println("paged")
}
