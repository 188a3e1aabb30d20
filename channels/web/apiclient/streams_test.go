package apiclient

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadEvents(t *testing.T) {
	const text = ": hello\n\nevent: a\nid: 7\ndata: {\"x\":\ndata: 1}\n\ndata:plain\n\nevent: cut\ndata: off"
	var got strings.Builder
	err := readEvents(strings.NewReader(text), func(e serverEvent, _ error) bool {
		fmt.Fprintf(&got, "%s|%s|%s;", e.name, e.id, e.data)
		return true
	})
	if want := "a|7|{\"x\":\n1};||plain;"; got.String() != want || err != nil {
		t.Errorf("readEvents yields %q, %v, want %q", got.String(), err, want)
	}
}

func TestDecodeLive(t *testing.T) {
	for name, tc := range map[string]struct{ event, data, tool, delivery, kind string }{
		"tool progress":          {"tool_progress", `{"session":"s","data":{"id":"c","name":"crawl","seconds":15}}`, "crawl", "", "tool_progress"},
		"delivery":               {"delivery", `{"session":"s","data":{"id":"d1"}}`, "", "d1", "delivery"},
		"another event":          {"tool_start", `{"session":"s","data":{"name":"crawl"}}`, "", "", "tool_start"},
		"progress of wrong type": {"tool_progress", `{"session":"s","data":{"seconds":"many"}}`, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := decodeLive(serverEvent{name: tc.event, data: []byte(tc.data)})
			if e.Type != tc.kind || e.Tool != tc.tool || e.Delivery.ID != tc.delivery || e.Session != "s" {
				t.Errorf("decodeLive = %+v", e)
			}
		})
	}
}
