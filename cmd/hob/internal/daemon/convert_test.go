package daemon

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"hob/autonomy"
	"hob/autonomy/agents"
	"hob/autonomy/api"
	"hob/autonomy/bus"
	"hob/autonomy/goals"
	"hob/autonomy/guard"
	"hob/autonomy/learn"
	"hob/autonomy/notify"
	"hob/autonomy/pairing"
	"hob/autonomy/session"
	"hob/cmd/hob/internal/channel"
	"hob/cmd/hob/internal/doctor"
	"hob/knowledge"
	"hob/knowledge/ingest"
	"hob/tools"
	"hob/tools/files"
	"hob/tools/memory"
	"hob/tools/tasks"
	"hob/watchers"
)

// TestAPITypes checks that a value of the engine and its form in the API have the same JSON, with
// all fields set and with none.
func TestAPITypes(t *testing.T) {
	sameJSON(t, func(x session.Info) api.Session { return api.Session(x) })
	sameJSON(t, apiFoundMessage)
	sameJSON(t, apiDifference)
	sameJSON(t, apiEvent)
	sameJSON(t, apiDelivery)
	sameJSON(t, apiLedgerEntry)
	sameJSON(t, apiApproval)
	sameJSON(t, apiGrant)
	sameJSON(t, func(x pairing.Pairing) api.Pairing { return api.Pairing(x) })
	sameJSON(t, func(x pairing.Code) api.PairingCode { return api.PairingCode(x) })
	sameJSON(t, func(x channel.Tested) api.ChannelTest { return api.ChannelTest(x) })
	sameJSON(t, func(x watchers.Spec) api.WatcherSpec { return apiWatcherSpec(x) })
	sameJSON(t, func(x tasks.Task) api.Task { return apiTask(x) })
	sameJSON(t, func(x memory.Note) api.Note { return apiNote(x) })
	sameJSON(t, func(x goals.Goal) api.Goal { return api.Goal(x) })
	sameJSON(t, apiReview)
	sameJSON(t, func(x tools.BriefSection) api.PlanSection { return apiPlanSection(x) })
	sameJSON(t, func(x notify.Notice) api.Notice { return apiNotice(x) })
	sameJSON(t, func(x agents.Task) api.Delegation { return apiDelegation(x) })
	sameJSON(t, func(x learn.Lesson) api.Lesson { return apiLesson(x) })
	sameJSON(t, apiUserEntry)
	sameJSON(t, apiFact)
	sameJSON(t, apiEntity)
	sameJSON(t, func(x knowledge.Relation) api.Relation { return api.Relation(x) })
	sameJSON(t, func(x knowledge.Route) api.Route { return api.Route(x) })
	sameJSON(t, apiScorePart)
	sameJSON(t, apiRowCount)
	sameJSON(t, func(x ingest.Document) api.Document { return apiDocument(x) })
	sameJSON(t, func(x files.Vouched) api.TrustedFiles { return api.TrustedFiles(x) })
	sameJSON(t, apiErasurePlan)
	sameJSON(t, apiErasure)
	sameJSON(t, func(x guard.ChainHead) api.AuditHead { return api.AuditHead(x) })
	sameJSON(t, apiAuditLine)
	sameJSON(t, func(x autonomy.Why) api.Why { return apiWhy(x) })
	sameJSON(t, apiTick)
	sameJSON(t, apiSilence)
	sameJSON(t, func(x doctor.Check) api.Finding { return apiFinding(x) })
	sameJSON(t, func(x bus.LiveEvent) api.FeedEvent { return api.FeedEvent(x) })
}

func sameJSON[S, T any](t *testing.T, convert func(S) T) {
	t.Helper()
	var none, all S
	fill(reflect.ValueOf(&all).Elem())
	for _, x := range []S{none, all} {
		want, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(convert(x))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%T:\n got %s\nwant %s", x, got, want)
		}
	}
}

// fill sets every field that it can to a value that JSON does not omit.
func fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
		return
	case *json.RawMessage:
		*p = json.RawMessage(`{"a":1}`)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(4)
	case reflect.Float64:
		v.SetFloat(math.Pi)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		x := reflect.New(v.Type().Elem()).Elem()
		fill(x)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), x)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	}
}
