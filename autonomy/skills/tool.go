package skills

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"strings"
	"unicode/utf8"

	"hob/platform/provenance"
	"hob/tools"
)

// useSkill is the name of the tool that loads a skill. Package turn has the same constant, because
// the call puts the skill in force.
const useSkill = "use_skill"

type useIn struct {
	Name string `json:"name" jsonschema:"name of the skill"`
	File string `json:"file,omitempty" jsonschema:"one of its files; default the instructions"`
}

// maxResource is the maximum size of a file that use_skill returns, in bytes.
const maxResource = 256 << 10

// Tool returns the tool that loads the instructions or a file of a skill.
func (l *Library) Tool() tools.Tool {
	return tools.New(tools.Def[useIn]{
		Spec: tools.Spec{
			Name: useSkill, Category: "engine", Effects: tools.Read,
			Description: "Load the instructions of a skill, or one of its files.",
			Keywords:    "skill skills instructions how to procedure",
		},
		Judge: func(_ context.Context, in useIn) tools.CallAssessment {
			if s, ok := l.findUsable(strings.TrimSpace(in.Name)); ok && s.load != nil { // the MCP server learns which skill is loaded
				return tools.CallAssessment{Effects: tools.Egress, Query: s.Name}
			}
			return tools.CallAssessment{}
		},
		Run: l.loadSkill,
	})
}

func (l *Library) loadSkill(ctx context.Context, _ tools.Call, in useIn) (tools.Result, error) {
	s, ok := l.findUsable(strings.TrimSpace(in.Name))
	if !ok {
		return tools.Result{}, tools.Errorf(tools.NotFound, "there is no skill %q; call find_tools with a few words", tools.Clean(in.Name))
	}
	r := tools.Result{Source: provenance.Tool}
	if !s.Trusted() {
		r.Source, r.Origins = provenance.Outside, s.originList()
	}
	if in.File != "" {
		return l.loadFile(s, in.File, r)
	}
	text, err := l.bodyOf(ctx, s)
	if err != nil {
		return tools.Result{}, &tools.Error{Source: provenance.Outside, Code: tools.Failed, Err: err, Message: err.Error()}
	}
	r.Text = text
	return r, nil
}

// loadFile returns a file of a skill. A file that has changed since the library read the skill is
// untrusted.
func (l *Library) loadFile(s *Skill, name string, r tools.Result) (tools.Result, error) {
	name = strings.TrimPrefix(name, "./")
	for _, f := range s.Files {
		if f.Path != name {
			continue
		}
		root, err := os.OpenRoot(s.Dir)
		if err != nil {
			return tools.Result{}, tools.Errorf(tools.Failed, "the folder of the skill cannot be read: %w", err)
		}
		defer func() { _ = root.Close() }()
		b, err := readFile(root, name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return tools.Result{}, tools.Errorf(tools.Conflict, "the file was removed; load the skill again")
		case err != nil:
			return tools.Result{}, tools.Errorf(tools.Failed, "the file cannot be read: %w", err)
		case len(b) > maxResource:
			return tools.Result{}, tools.Errorf(tools.Unsupported, "the file is larger than %d KiB; run a command of the skill that reads it", maxResource>>10)
		case !utf8.Valid(b):
			return tools.Result{}, tools.Errorf(tools.Unsupported, "the file is not text; run a command of the skill that reads it")
		case sha256.Sum256(b) != f.sum:
			r.Source, r.Origins = provenance.Outside, s.originList()
		}
		r.Text = string(b)
		return r, nil
	}
	return tools.Result{}, tools.Errorf(tools.NotFound, "the skill has no file %q; load the skill without a file to see the list", tools.Clean(name))
}
