package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"hob/autonomy/guard"
)

// Case is a call with the verdict that the rules should return: one [[case]] entry in a TOML file.
type Case struct {
	Name string `toml:"name" json:"name"`
	// Expect is "deny", "ask" or "none". Rule, if set, is the expected rule.
	Expect string `toml:"expect" json:"expect"`
	Rule   string `toml:"rule" json:"rule,omitempty"`

	Tool       string         `toml:"tool" json:"tool"`
	Category   string         `toml:"category" json:"-"`
	Effects    []string       `toml:"effects" json:"-"`
	Args       map[string]any `toml:"args" json:"-"`
	Agent      string         `toml:"agent" json:"-"`
	Person     string         `toml:"person" json:"-"`
	Roles      []string       `toml:"roles" json:"-"` // these two default to the configuration
	AgentRoles []string       `toml:"agent_roles" json:"-"`
	Channel    string         `toml:"channel" json:"-"`
	Session    string         `toml:"session" json:"-"`
	Origin     string         `toml:"origin" json:"-"`
	Attended   *bool          `toml:"attended" json:"-"` // default true
	Tainted    bool           `toml:"tainted" json:"-"`
	Guest      bool           `toml:"guest" json:"-"`
	Level      string         `toml:"level" json:"-"`
	Hosts      []string       `toml:"hosts" json:"-"`
	URLs       []string       `toml:"urls" json:"-"`
	Recipients []string       `toml:"recipients" json:"-"`
	Paths      []string       `toml:"paths" json:"-"`
	Items      int            `toml:"items" json:"-"`
	Would      string         `toml:"would" json:"-"`
	Time       string         `toml:"time" json:"-"` // for example "2026-03-06T23:10"
}

// Outcome is the rules' verdict on a case.
type Outcome struct {
	Case
	Got    string `json:"got"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	OK     bool   `json:"ok"`
}

// ParseCases parses a file of cases. name is the file name for errors.
func ParseCases(name string, text []byte) ([]Case, error) {
	var f struct {
		Cases []Case `toml:"case"`
	}
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&f)
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
		line, _ := e.Errors[0].Position()
		return nil, fmt.Errorf("%s:%d: unknown key %s; docs/policy.md lists the keys", name, line, strings.Join(e.Errors[0].Key(), "."))
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := e.Position()
		return nil, fmt.Errorf("%s:%d: %s", name, line, strings.TrimPrefix(e.Error(), "toml: "))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(f.Cases) == 0 {
		return nil, fmt.Errorf("%s contains no [[case]]", name)
	}
	for i, c := range f.Cases {
		if err := c.validateCase(); err != nil {
			return nil, fmt.Errorf("%s: case %d (%s): %w", name, i+1, c.Name, err)
		}
	}
	return f.Cases, nil
}

func (c Case) validateCase() error {
	switch {
	case c.Tool == "":
		return errors.New(`the case has no tool; set one, for example tool = "write_file"`)
	case !slices.Contains([]string{"deny", "ask", "none"}, c.Expect):
		return errors.New(`expect must be "deny", "ask" or "none"`)
	case c.Would != "" && c.Would != "allow" && c.Would != "ask":
		return errors.New(`would must be "allow" or "ask"`)
	}
	_, err := c.parseTime()
	return err
}

func (c Case) parseTime() (time.Time, error) {
	if c.Time == "" {
		return time.Date(2026, 1, 7, 12, 0, 0, 0, time.UTC), nil // a Wednesday at noon
	}
	t, err := time.Parse("2006-01-02T15:04", c.Time)
	if err != nil {
		return t, fmt.Errorf(`time %q must be written as "2026-03-06T23:10"`, c.Time)
	}
	return t, nil
}

func (c Case) ruleInput() (guard.RuleInput, error) {
	f := guard.RuleInput{
		Tool: c.Tool, Category: c.Category, Effects: c.Effects, Agent: c.Agent, Roles: c.Roles, AgentRoles: c.AgentRoles, Person: "owner", Channel: "web", Session: "main", Origin: c.Origin,
		Attended: true, Tainted: c.Tainted, Guest: c.Guest, Level: "supervised", Hosts: c.Hosts, URLs: c.URLs, Recipients: c.Recipients,
		Paths: c.Paths, Items: max(1, c.Items), Would: "allow",
	}
	for _, x := range []struct {
		to   *string
		from string
	}{{&f.Person, c.Person}, {&f.Channel, c.Channel}, {&f.Session, c.Session}, {&f.Level, c.Level}, {&f.Would, c.Would}} {
		if x.from != "" {
			*x.to = x.from
		}
	}
	if c.Attended != nil {
		f.Attended = *c.Attended
	}
	var err error
	if f.Time, err = c.parseTime(); err != nil {
		return f, err
	}
	if f.Args, err = json.Marshal(c.Args); err != nil || c.Args == nil {
		f.Args = json.RawMessage(`{}`)
	}
	return f, err
}

// Try evaluates the rules for each case. If a rule fails on a case, the outcome is a denial, as
// for a real call.
func (r *Rules) Try(ctx context.Context, cases []Case) ([]Outcome, error) {
	if _, err := r.currentPrograms(); err != nil {
		return nil, err
	}
	out := make([]Outcome, 0, len(cases))
	for _, c := range cases {
		f, err := c.ruleInput()
		if err != nil {
			return nil, err
		}
		o := Outcome{Case: c, Got: "none"}
		switch found, err := r.Judge(ctx, f); {
		case err != nil:
			o.Got, o.Reason = "deny", err.Error()
		case found.Verdict != guard.Allow:
			o.Got, o.By, o.Reason = found.Verdict.String(), found.Rule, found.Reason
		}
		o.OK = o.Got == c.Expect && (c.Rule == "" || c.Rule == o.By) && (o.Got != "deny" || o.By != "")
		out = append(out, o)
	}
	return out, nil
}
