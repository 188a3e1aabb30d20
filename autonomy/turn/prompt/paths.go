package prompt

import (
	"encoding/json"
	"strings"

	"hob/autonomy/llm"
	"hob/platform/text/lazyregexp"
	"hob/tools"
)

// maxPaths is the maximum number of paths to check in one message.
const maxPaths = 4

// quotedPath and barePath match possible paths in plain text: paths that begin with ~, a slash or a
// drive, or contain a slash.
var (
	quotedPath = lazyregexp.New("[\"'`“‘«]([^\"'`”’»\n]*[/\\\\][^\"'`”’»\n]*)[\"'`”’»]")
	barePath   = lazyregexp.New(`(?:^|[\s(\[,;:])((?:~|[A-Za-z]:)?[\pL\pN._@+\-]*[/\\][^\s"'` + "`" + `<>|]*)`)
)

// namedPaths lists the paths that text contains, in order.
func namedPaths(text string) []string {
	var out []string
	text = headLines(text, 4_000)
	for _, m := range quotedPath.FindAllStringSubmatch(text, maxPaths) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	text = quotedPath.ReplaceAllString(text, " ")
	for _, m := range barePath.FindAllStringSubmatch(text, 4*maxPaths) {
		p := strings.TrimRight(m[1], ".,;:!?)]}")
		if len(p) > 1 && !strings.HasPrefix(p, "//") && !strings.Contains(p, "://") {
			out = append(out, p)
		}
	}
	return out[:min(len(out), maxPaths)]
}

// usedPaths lists the paths in the newest call of a conversation that has paths.
func (b *Builder) usedPaths(msgs []llm.Message) []string {
	if b.o.Catalog == nil {
		return nil
	}
	for i := len(msgs) - 1; i >= max(0, len(msgs)-40); i-- {
		for _, p := range msgs[i].Parts {
			if p.Call == nil || p.Call.Truncated {
				continue
			}
			if paths := b.pathsOf(p.Call); len(paths) > 0 {
				return paths[:min(len(paths), maxPaths)]
			}
		}
	}
	return nil
}

// pathsOf returns the paths that a call accesses, according to its tool. It also handles calls
// inside use_tool.
func (b *Builder) pathsOf(c *llm.ToolCall) []string {
	name, args := c.Name, c.Args
	if _, ok := b.o.Catalog.Get(name); !ok {
		var in struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(args, &in) != nil || in.Name == "" {
			return nil
		}
		name, args = in.Name, in.Arguments
	}
	t, ok := b.o.Catalog.Get(name)
	if !ok {
		return nil
	}
	if p, ok := t.(tools.Pather); ok {
		return p.Paths(args)
	}
	return nil
}
