package system

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"hob/tools"
)

type fake struct{ id string }

func (f *fake) Status(context.Context) (Report, error) {
	return Report{Name: "Hob", Version: "v1", Model: "offline", Daemon: true, Uptime: 90 * time.Second, DatabaseSize: 12_300_000, DiskFree: 999}, nil
}

func (f *fake) Undo(_ context.Context, id string, last int) (tools.Result, error) {
	if id == "none" {
		return tools.Result{}, errors.New("there is no such action")
	}
	f.id = id
	return tools.Result{Text: "taken back"}, nil
}

func TestTools(t *testing.T) {
	f := &fake{}
	for _, tc := range []struct{ tool, args, want, fails string }{
		{"status", `{}`, "up 1m30s", ""},
		{"status", `{}`, "database 12.3 MB, disk free 999 B", ""},
		{"undo", `{}`, "taken back", ""},
		{"undo", `{"id":"none"}`, "", "no such action"},
		{"undo", `{"last":-1}`, "", "1 to 100"},
		{"undo", `{"what":1}`, "", "no argument"},
	} {
		for _, x := range Tools(f) {
			if x.Spec().Name != tc.tool {
				continue
			}
			r, err := x.Call(t.Context(), tools.Call{Args: []byte(tc.args), Now: time.Now()})
			switch {
			case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
				t.Errorf("%s %s: error %v, want %q", tc.tool, tc.args, err, tc.fails)
			case tc.fails == "" && (err != nil || !strings.Contains(r.Text, tc.want)):
				t.Errorf("%s %s: %q, %v", tc.tool, tc.args, r.Text, err)
			}
		}
	}
}
