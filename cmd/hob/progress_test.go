package main

import "testing"

func TestProgressOf(t *testing.T) {
	tests := []struct {
		name, event, data, want string
	}{
		{"silent", "tool_progress", `{"session":"s","data":{"id":"c","name":"read_page","seconds":15}}`, "read page: 15 s"},
		{"how far it is", "tool_progress", `{"session":"s","data":{"name":"crawl","seconds":45,"percent":30,"note":"page 3\nof 10"}}`, "crawl: 45 s, 30 %, page 3 of 10"},
		{"nothing yet", "tool_progress", `{"session":"s","data":{"name":"crawl","seconds":0,"percent":0}}`, "crawl: 0 s, 0 %"},
		{"another conversation", "tool_progress", `{"session":"t","data":{"name":"crawl","seconds":15}}`, ""},
		{"something else", "tool_start", `{"session":"s","data":{"name":"crawl"}}`, ""},
		{"no JSON", "tool_progress", `{`, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := progressOf(serverEvent{name: tc.event, data: []byte(tc.data)}, "s")
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("%q, %v", got, ok)
			}
		})
	}
}
