package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/autonomy/api"
)

func TestExplanation_RoundTripsJSON(t *testing.T) {
	for name, x := range map[string]api.Explanation{
		"why":           {Why: &api.Why{Event: api.Event{ID: "e1"}}, Text: "because"},
		"nothing":       {Why: &api.Why{Nothing: true}, Text: "Nothing has happened yet."},
		"tick":          {Tick: &api.Tick{ID: "t1", Events: []api.Why{}}, Text: "a tick"},
		"silence":       {Silence: &api.Silence{About: "w1", Passed: []api.SuppressedSignal{{Rule: "quiet"}}}, Text: "quiet hours"},
		"empty silence": {Silence: &api.Silence{}, Text: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			var got api.Explanation
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(x, got); d != "" {
				t.Errorf("%s decodes differently (-want +got):\n%s", b, d)
			}
		})
	}
}
