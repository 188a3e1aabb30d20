package desktop

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hob/platform/host/desktop/filemanager"
	"hob/platform/host/desktop/shortcuts"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// FileRevealer shows files in the owner's file manager; *filemanager.FileRevealer implements it.
type FileRevealer interface {
	Reveal(ctx context.Context, path string) error
}

// Shortcuts lists and runs macOS shortcuts; shortcuts.Library implements it.
type Shortcuts interface {
	List(ctx context.Context) ([]string, error)
	Start(ctx context.Context, name, input string) (string, error)
}

type revealIn struct {
	Path string `json:"path"`
}

func (d Deps) revealFile() tools.Tool {
	return tools.New(tools.Def[revealIn]{
		Spec: tools.Spec{
			Name: "reveal_file", Category: "desktop", Effects: tools.Write,
			Description: "Show a file in its folder, in the user's file manager (Finder, Explorer, Files).",
			Keywords:    "reveal show location where folder open directory finder explorer file manager",
		},
		Summary: func(in revealIn) string { return "Show in the file manager: " + textnorm.Ellipsize(in.Path, 200) },
		Judge: func(_ context.Context, in revealIn) tools.CallAssessment {
			path, err := d.Reach(in.Path)
			return tools.CallAssessment{Refused: err, Exact: path}
		},
		Run: func(ctx context.Context, c tools.Call, in revealIn) (tools.Result, error) {
			path, err := d.Reach(in.Path)
			if err != nil {
				return tools.Result{}, err
			}
			if path != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "%s now refers to a different file than the approved one; nothing was shown", tools.Clean(textnorm.Ellipsize(in.Path, 100)))
			}
			if err := d.FileManager.Reveal(ctx, path); err != nil {
				if errors.Is(err, filemanager.ErrNone) {
					return tools.Result{}, tools.Quoting(tools.Errorf(tools.Unsupported, "%w", err), provenance.Outside)
				}
				return tools.Result{}, classifyProgramError(err)
			}
			return tools.Result{Source: provenance.Tool, Text: "Showed the item in the file manager."}, nil
		},
	})
}

type shortcutsIn struct{}

// shortcutsOut is the Data of list_shortcuts.
type shortcutsOut struct {
	Shortcuts []string `json:"shortcuts"`
}

func (d Deps) listShortcuts() tools.Tool {
	return tools.New(tools.Def[shortcutsIn]{
		Spec: tools.Spec{
			Name: "list_shortcuts", Category: "desktop", Effects: tools.Read, Platforms: []string{"darwin"},
			Description: "List the shortcuts in this Mac's Shortcuts app.",
			Keywords:    "automation automations apple workflows shortcuts available",
		},
		Summary: func(shortcutsIn) string { return "List the shortcuts" },
		Run: func(ctx context.Context, _ tools.Call, _ shortcutsIn) (tools.Result, error) {
			names, err := d.Shortcuts.List(ctx)
			switch {
			case err != nil:
				return tools.Result{}, tools.Quoting(classifyMachineError(err), provenance.Outside)
			case len(names) == 0:
				return tools.Result{Source: provenance.Tool, Text: "There are no shortcuts on this Mac.", Data: shortcutsOut{[]string{}}}, nil
			}
			lines := make([]string, len(names))
			for i, n := range names {
				lines[i] = "- " + textnorm.Ellipsize(n, 200)
			}
			return tools.Result{Text: strings.Join(lines, "\n"), Data: shortcutsOut{names}, Source: provenance.Outside, Origins: desktopOrigins("shortcuts")}, nil
		},
	})
}

type shortcutIn struct {
	Name  string `json:"name"`
	Input string `json:"input,omitempty" jsonschema:"text passed to the shortcut"`
}

const maxInput = 100_000

func (d Deps) runShortcut() tools.Tool {
	return tools.New(tools.Def[shortcutIn]{
		Spec: tools.Spec{
			Name: "run_shortcut", Category: "desktop", Effects: tools.Exec | tools.Send, Platforms: []string{"darwin"},
			Description: "Run a shortcut in this Mac's Shortcuts app.",
			Keywords:    "automation apple workflow start trigger execute siri shortcut run",
		},
		Summary: func(in shortcutIn) string {
			s := "Run the shortcut " + textnorm.Ellipsize(in.Name, 200)
			if in.Input != "" {
				s += " with: " + textnorm.Ellipsize(in.Input, 300)
			}
			return s
		},
		Judge: func(_ context.Context, in shortcutIn) tools.CallAssessment {
			if strings.TrimSpace(in.Name) == "" || len(in.Input) > maxInput {
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "give the shortcut's name and at most %d bytes of input", maxInput)}
			}
			return tools.CallAssessment{Effects: tools.Exec | tools.Send, Why: "Hob cannot tell what a shortcut does"}
		},
		Run: func(ctx context.Context, _ tools.Call, in shortcutIn) (tools.Result, error) {
			names, err := d.Shortcuts.List(ctx)
			if err != nil {
				return tools.Result{}, tools.Quoting(classifyMachineError(err), provenance.Outside)
			}
			if !slices.Contains(names, in.Name) {
				return tools.Result{}, tools.Errorf(tools.NotFound, "%w: %s", tools.CleanErr(shortcuts.ErrNone), tools.Clean(textnorm.Ellipsize(in.Name, 100)))
			}
			text, err := d.Shortcuts.Start(ctx, in.Name, in.Input)
			switch {
			case errors.Is(err, shortcuts.ErrUnsure):
				return tools.Result{}, tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "%w", err), provenance.Outside)
			case err != nil:
				return tools.Result{}, tools.Quoting(classifyMachineError(err), provenance.Outside)
			case text == "":
				return tools.Result{Source: provenance.Tool, Text: "The shortcut ran and returned no output."}, nil
			}
			return tools.Result{Text: "The shortcut ran. Its output:\n" + text, Source: provenance.Outside, Origins: desktopOrigins("shortcut")}, nil
		},
	})
}
