package config

import (
	"path"
	"slices"
	"strings"
	"time"
)

// The events of hooks.
const (
	MessageReceived = "message.received"
	TurnBefore      = "turn.before"
	ToolBefore      = "tool.before"
	ToolAfter       = "tool.after"
	AnswerBefore    = "answer.before"
	NoticeBefore    = "notice.before"
	SessionEnd      = "session.end"
)

// HookEvents lists the events of hooks in the order of a turn.
func HookEvents() []string {
	return []string{MessageReceived, TurnBefore, ToolBefore, ToolAfter, AnswerBefore, NoticeBefore, SessionEnd}
}

// defaultHookTimeout is the time limit of a hook without the key timeout.
const defaultHookTimeout = 5 * time.Second

// Hook is one [[hooks]] entry: a program that runs at an event.
type Hook struct {
	On      string   `toml:"on"`      // one of HookEvents
	Match   string   `toml:"match"`   // pattern for the names of tools; "" matches all of them
	Command []string `toml:"command"` // the program and its arguments
	Timeout Duration `toml:"timeout"`
}

// checkHooks checks the entries themselves. Package hooks checks the programs, so that a missing
// program does not prevent a start.
func (k *checker) checkHooks() {
	for i := range k.c.Hooks {
		h := &k.c.Hooks[i]
		bad := func(key, format string, args ...any) {
			k.errs = append(k.errs, k.c.nthErrorf("hooks", i, key, format, args...))
		}
		if !slices.Contains(HookEvents(), h.On) {
			msg := "must be one of " + strings.Join(HookEvents(), ", ")
			if near := nearestName(h.On, HookEvents()); near != "" {
				msg += "; did you mean " + quoteString(near) + "?"
			}
			bad("on", "%s", msg)
		}
		if _, err := path.Match(h.Match, ""); err != nil {
			bad("match", `must be the name of a tool or a pattern such as "write_*"`)
		} else if h.Match != "" && h.On != ToolBefore && h.On != ToolAfter {
			bad("match", `applies only to "tool.before" and "tool.after"; remove the key`)
		}
		if len(h.Command) == 0 || strings.TrimSpace(h.Command[0]) == "" {
			bad("command", `must be a program with its arguments, such as ["/usr/local/bin/check"]`)
		}
		if slices.ContainsFunc(h.Command, func(s string) bool { return strings.ContainsRune(s, 0) }) {
			bad("command", "must not contain NUL characters")
		}
		if h.Timeout.Duration == 0 {
			h.Timeout.Duration = defaultHookTimeout
		}
		if h.Timeout.Duration < 100*time.Millisecond || h.Timeout.Duration > time.Minute {
			bad("timeout", `must be between "100ms" and "60s"`)
		}
	}
}

// Person is one [people.NAME] section. Name is "owner" or "channel:sender".
type Person struct {
	Name  string   `toml:"-"`
	Roles []string `toml:"roles"`
}

// PersonRoles returns the roles of a person, for policy rules.
func (c *Config) PersonRoles(name string) []string {
	for _, p := range c.People {
		if p.Name == name {
			return p.Roles
		}
	}
	return nil
}

// AgentRoles returns the roles of an agent, for policy rules.
func (c *Config) AgentRoles(name string) []string {
	m, _ := c.Member(name)
	return m.Roles
}

// checkRoles rejects people and roles that no rule could match.
func (k *checker) checkRoles() {
	check := func(key string, roles []string) {
		for _, r := range roles {
			k.requireValid(key, validAgent.MatchString(r), `%q: a role may contain only lower-case letters, digits, - and _, and must begin with a letter`, r)
		}
	}
	for _, p := range k.c.People {
		key := joinKey([]string{"people", p.Name})
		k.requireValid(key, p.Name == "owner" || validPerson.MatchString(p.Name), `write it as [people.owner] or [people."CHANNEL:SENDER"]`)
		check(key+".roles", p.Roles)
	}
	for _, m := range k.c.Members {
		check("agents."+m.Name+".roles", m.Roles)
	}
}
