package main

import (
	"encoding/json"
	"testing"

	"github.com/spf13/cobra"
)

// A value is a text unless its syntax is that of another type.
func TestWatcherOf(t *testing.T) {
	for set, want := range map[string]string{
		`from=100`:        `{"from":"100"}`,
		`to=null`:         `{"to":"null"}`,
		`select=#price`:   `{"select":"#price"}`,
		`words=["a"]`:     `{"words":["a"]}`,
		`from="100"`:      `{"from":"100"}`,
		`per_day=3`:       `{"per_day":3}`,
		`recursive=true`:  `{"recursive":true}`,
		`from=a=b, "c" d`: `{"from":"a=b, \"c\" d"}`,
	} {
		c := &cobra.Command{}
		watcherFlags(c)
		if err := c.ParseFlags([]string{"--kind", "page", "--set", set}); err != nil {
			t.Fatal(err)
		}
		in, err := watcherOf(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(in["config"]); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", set, got, err)
		}
	}
}
