package turn

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"hob/platform/store"
	"hob/tools"
)

type fileArgs struct {
	Path string `json:"path"`
}

// fileTool returns a tool that accesses the path in its arguments. It resolves the path like a
// shell in /work.
func fileTool(name string, effects tools.Effects) tools.Tool {
	return tools.New(tools.Def[fileArgs]{
		Spec: tools.Spec{Name: name, Category: "test", Description: "Test.", Effects: effects},
		Run:  func(context.Context, tools.Call, fileArgs) (tools.Result, error) { return tools.Result{}, nil },
		Paths: func(in fileArgs) []string {
			switch {
			case in.Path == "":
				return nil
			case in.Path == "relative":
				return []string{in.Path}
			case filepath.IsAbs(in.Path):
				return []string{in.Path}
			}
			abs, _ := filepath.Abs(in.Path)
			return []string{abs}
		},
	})
}

func TestCanRunTogether(t *testing.T) {
	read, write, send := fileTool("read", tools.Read), fileTool("write", tools.Write), fileTool("send", tools.Send)
	blind := tools.New(tools.Def[fileArgs]{
		Spec: tools.Spec{Name: "blind", Category: "test", Description: "Test.", Effects: tools.Write},
		Run:  func(context.Context, tools.Call, fileArgs) (tools.Result, error) { return tools.Result{}, nil },
	})
	own := tools.New(tools.Def[fileArgs]{
		Spec: tools.Spec{Name: "own", Category: "test", Description: "Test.", Effects: tools.Write},
		RunTx: func(context.Context, *store.Tx, tools.Call, fileArgs) (tools.Result, error) {
			return tools.Result{}, nil
		},
	})
	type c struct {
		tool tools.Tool
		path string
	}
	tests := []struct {
		name  string
		calls []c
		want  bool
	}{
		{"one call", []c{{read, "a"}}, false},
		{"two reads", []c{{read, "a"}, {read, "b"}}, true},
		{"two reads of one file", []c{{read, "a"}, {read, "a"}}, true},
		{"reads with unknown paths", []c{{read, ""}, {read, ""}}, true},
		{"two writes", []c{{write, "a"}, {write, "b"}}, true},
		{"two writes of one file", []c{{write, "a"}, {write, "a"}}, false},
		{"x and ./x", []c{{write, "x"}, {write, "./x"}}, false},
		{"x and y/../x", []c{{write, "x"}, {write, "y/../x"}}, false},
		{"x and X", []c{{write, "x"}, {write, "X"}}, false},
		{"an accent composed and not", []c{{write, "caf\u00e9"}, {write, "cafe\u0301"}}, false},
		{"a folder and a file in it", []c{{write, "a"}, {write, "a/b"}}, false},
		{"a file and its folder", []c{{write, "a/b/c"}, {read, "a"}}, false},
		{"names that begin alike", []c{{write, "a"}, {write, "ab"}}, true},
		{"the root of everything", []c{{read, "/"}, {write, "a"}}, false},
		{"read and write of one file", []c{{read, "a"}, {write, "a"}}, false},
		{"read and write of two files", []c{{read, "a"}, {write, "b"}}, true},
		{"two of three meet", []c{{write, "a"}, {write, "b"}, {read, "b"}}, false},
		{"a missing path", []c{{write, "a"}, {write, ""}}, false},
		{"a read with a missing path and a write", []c{{read, ""}, {write, "a"}}, false},
		{"a relative path", []c{{write, "a"}, {write, "relative"}}, false},
		{"a tool that names no paths", []c{{write, "a"}, {blind, "b"}}, false},
		{"a call that sends", []c{{send, "a"}, {write, "b"}}, false},
		{"a send and a read", []c{{send, "a"}, {read, "b"}}, false},
		{"an own tool", []c{{own, "a"}, {read, "b"}}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var steps []*callStep
			for _, c := range tc.calls {
				args, _ := json.Marshal(fileArgs{c.path})
				steps = append(steps, &callStep{tool: c.tool, args: args})
			}
			if got := canRunTogether(steps); got != tc.want {
				t.Errorf("together: %v", got)
			}
			refused := &callStep{err: tools.Errorf(tools.NotFound, "refused before")}
			if got := canRunTogether(append(steps, refused)); got != tc.want {
				t.Errorf("canRunTogether with a refused call = %v", got)
			}
		})
	}
}
