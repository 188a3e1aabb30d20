// Package skills manages skills: instructions for one kind of task, in the format of
// agentskills.io. A skill is a folder in HOB_HOME/skills, a part of the active template, or a prompt
// of an MCP server. Library finds the skills that match a request and returns their texts; package
// prompt adds them to the message, and package turn applies their allowed-tools. Home adds, removes
// and trusts the folders; the commands `hob skill` use it.
//
// A skill instructs, it never authorizes. It supplies no host, recipient, path or grant, and its
// allowed-tools can only narrow what a turn may do. Only a trusted skill counts as Hob's own text: a
// folder whose files are exactly those that the user trusted, or a skill of a built-in template. All
// other skills are untrusted text.
package skills

import (
	"context"
	"errors"
	"time"

	"hob/platform/provenance"
)

// Kinds of Skill.Origin.
const (
	FromFolder   = "folder"   // a folder in HOB_HOME/skills
	FromTemplate = "template" // the active template
	FromMCP      = "mcp"      // a prompt of an MCP server
)

// States of a skill.
const (
	StateTrusted   = "trusted"
	StateUntrusted = "untrusted"
	StateChanged   = "changed" // the files differ from the files that the user trusted
	StateInvalid   = "invalid"
)

// Errors of a skill. ErrInvalid wraps all mistakes in the files of a skill.
var (
	ErrInvalid  = errors.New("invalid skill")
	ErrNotFound = errors.New("skill not found")
	ErrExists   = errors.New("skill already exists")
)

// Skill is one skill without its text.
type Skill struct {
	Manifest

	Origin string // FromFolder, FromTemplate or FromMCP
	From   string // name of the template or of the MCP server, or where the folder was added from
	State  string
	// Problem explains StateInvalid.
	Problem string
	// Dir is the folder of the skill, "" if it has none. Files lists its other files, in order.
	Dir    string
	Files  []File
	Digest string    // digest of all files
	Added  time.Time // when the user trusted the skill, zero if they did not

	text string // the instructions
	load func(ctx context.Context) (string, error)
}

// Trusted reports whether the text of the skill counts as Hob's own.
func (s *Skill) Trusted() bool { return s.State == StateTrusted }

// Source returns the provenance of the skill's texts.
func (s *Skill) Source() provenance.Source {
	if s.Trusted() {
		return provenance.Hob
	}
	return provenance.Outside
}

// originList returns the origin of the skill's texts.
func (s *Skill) originList() []provenance.Origin {
	return []provenance.Origin{{Kind: "skill", Label: s.Name}}
}

// isUsable reports whether a model may read the skill.
func (s *Skill) isUsable() bool { return s.State != StateInvalid }
