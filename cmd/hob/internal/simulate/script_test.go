package simulate

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse_RejectsMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		line   int
		says   string
	}{
		"text before the first section": {"hello\n", 1, `"-- day 1 09:00 message --"`},
		"no time":                       {"# note\n-- mail work --\nFrom: a@b.c\n\nx\n", 2, "does not begin with a time"},
		"no kind":                       {"-- day 1 09:00 --\n", 1, "the kind of input is missing"},
		"an unknown kind":               {"-- day 1 09:00 letter --\n", 1, `unknown input "letter"`},
		"an invalid day":                {"-- day 0 09:00 message --\nhi\n", 1, "from 1 to"},
		"an invalid time":               {"-- day 1 25:00 message --\nhi\n", 1, `"09:30"`},
		"an empty message":              {"\n\n-- day 1 09:00 message --\n\n", 3, "missing after this line"},
		"an invalid mail":               {"-- day 1 09:00 mail work --\nhello there\n", 1, "not an email"},
		"a mail without a recipient":    {"-- day 1 09:00 mail --\nFrom: a@b.c\n\nx\n", 1, "needs an account"},
		"an event without a time":       {"-- day 1 09:00 event work --\ntitle: Standup\n", 1, "needs a"},
		"an event that ends first":      {"-- day 1 09:00 event work --\ntitle: x\nstart: 2026-11-24 10:00\nend: 2026-11-24 09:00\n", 1, "must end after"},
		"a file outside of the home":    {"-- day 1 09:00 file /etc/passwd --\nx\n", 1, "below ~"},
		"a file above":                  {"-- day 1 09:00 file ~/../x --\nx\n", 1, "below ~"},
		"an invalid address":            {"-- day 1 09:00 web example.org --\nx\n", 1, "must be an address"},
		"arguments that are not JSON":   {"-- day 1 09:00 call create_task --\n{title}\n", 1, "not valid JSON"},
		"an invalid answer":             {"-- day 1 09:00 answer maybe --\n", 1, `"answer yes"`},
		"an invalid duration":           {"-- day 1 09:00 away soon --\n", 1, `"away 8h"`},
		"a model without an answer":     {"-- model --\n\n", 1, "missing after this line"},
		"a model with a time":           {"-- day 1 09:00 model --\nhi\n", 1, "accepts no time"},
		"a message before the start":    {"-- start message --\nhi\n", 1, "needs a time"},
		"no UTF-8":                      {"-- day 1 09:00 message --\n\xff\n", 2, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("script", strings.NewReader(c.script))
			e, ok := errors.AsType[*ScriptError](err)
			if !ok || e.Line != c.line || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestParse_Times(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vilnius")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("script", strings.NewReader("-- 2027-03-29 09:00 message --\nlast {day 2 10:00}\n-- day 1 08:00:30 message --\nfirst\n-- start file ~/a --\n{day 1 10:00}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range s.sortedSteps(time.Date(2027, 3, 27, 7, 0, 0, 0, zone)) {
		got = append(got, x.at.Format(time.RFC3339)+" "+strings.TrimSpace(x.Body))
	}
	want := "2027-03-27T07:00:00+02:00 {day 1 10:00}\n2027-03-27T08:00:30+02:00 first\n2027-03-29T09:00:00+03:00 last 2027-03-28T10:00:00+03:00"
	if strings.Join(got, "\n") != want {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-- day 1 09:00 mail work --\nFrom: a@b.c\n\nx\n-- model --\ncall x {}\n")
	f.Add("-- start event work --\ntitle: a\nstart: {day 1 10:00}\n-- config --\n[x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("script", strings.NewReader(text))
		if err != nil {
			if _, ok := errors.AsType[*ScriptError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		s.sortedSteps(time.Unix(0, 0))
	})
}
