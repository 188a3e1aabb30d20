package offline

import (
	"strings"
)

func fileBuilders() map[string]builder {
	return map[string]builder{
		"file.list":         listFiles,
		"file.read":         readFile,
		"file.search":       searchFiles,
		"file.search.where": askFolder,
		"file.write":        func(w *wish) (plan, bool) { return writeFile(w, false) },
		"file.write.none":   askContent,
		"file.append":       func(w *wish) (plan, bool) { return writeFile(w, true) },
		"file.move":         moveFile,
		"file.trash":        trashFile,
		"file.none": func(*wish) (plan, bool) {
			return asking("Which one? Please say it with its path, such as “read ~/Documents/list.txt”.", nil)
		},
	}
}

func listFiles(w *wish) (plan, bool) {
	p := w.path("path")
	if !w.noLead() || isFile(p, w.g.lex) {
		return not()
	}
	args := arguments("path", p)
	if kind := w.norm("kind"); kind != "" {
		glob, ok := w.glob(kind)
		if !ok {
			return not()
		}
		if glob != "" {
			args["pattern"] = glob
		}
	} else if glob, ok := w.kindSaid(); ok {
		args["pattern"] = glob
	}
	if tail := w.norm("tail"); tail != "" {
		if !deep(tail) {
			return not()
		}
		args["recursive"] = true
	}
	return calling("list_directory", args)
}

// deep reports whether text requests subfolders.
func deep(words string) bool {
	for _, w := range []string{"recursively", "subfolders", "sub-folders", "sub folders", "subdirectories", "folders below", "folders inside"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// kindSaid finds a kind of file in the words before the path: "the PDF files in".
func (w *wish) kindSaid() (string, bool) {
	c, _ := w.capture("path")
	for _, t := range w.s.tokens[:c.from] {
		if t.kind == word && t.norm != "text" {
			if glob, ok := w.g.lex.get("kinds", t.norm); ok {
				return glob, true
			}
		}
	}
	return "", false
}

// glob converts "new PDF files" to *.pdf. It is "" for any file, and ok is false for an unknown
// kind.
func (w *wish) glob(words string) (string, bool) {
	found := ""
	for _, f := range strings.Fields(words) {
		f = strings.Trim(f, `"'“”`)
		if g, ok := w.g.lex.get("kinds", f); ok && (found == "" || found == g) {
			found = g
			continue
		}
		if strings.Contains(f, "*") && strings.Trim(f, "*?.") != "" {
			found = f
			continue
		}
		if strings.HasPrefix(f, ".") && w.g.lex.has("extensions", f[1:]) {
			found = "*" + f
			continue
		}
		if !w.g.lex.has("kind-noise", f) {
			return "", false
		}
	}
	return found, true
}

// isFile reports whether a path ends in a known extension.
func isFile(p string, lex *lexicon) bool {
	base := p[strings.LastIndexAny(p, `/\`)+1:]
	dot := strings.LastIndexByte(base, '.')
	return dot > 0 && lex.has("extensions", strings.ToLower(base[dot+1:]))
}

func readFile(w *wish) (plan, bool) {
	p := w.path("path")
	if !w.noLead() {
		return not()
	}
	if !isFile(p, w.g.lex) && !w.says("file") && !w.says("document") && (w.says("show") || w.says("open") || w.says("view") || w.says("list")) {
		return calling("list_directory", arguments("path", p))
	}
	args := arguments("path", p)
	if n, ok := w.number("number_lines"); ok {
		args["limit"] = int(n)
	}
	if from, ok := w.number("number_from"); ok {
		args["offset"] = int(from)
		if to, ok := w.number("number_to"); ok {
			if to < from {
				return not()
			}
			args["limit"] = int(to-from) + 1
		}
	}
	return calling("read_file", args)
}

func searchFiles(w *wish) (plan, bool) {
	query := w.text("query")
	for _, head := range []string{"the word ", "the text ", "the phrase "} {
		query = strings.TrimPrefix(query, head)
	}
	query = bare(strings.Trim(query, `"“”'`))
	if query == "" {
		return not()
	}
	if g, ok := w.glob(strings.ToLower(query)); ok && g != "" {
		return calling("list_directory", arguments("path", w.path("path"), "pattern", g))
	}
	kind, ok := w.glob(w.norm("kind"))
	if !ok {
		return not()
	}
	return calling("search_files", arguments("path", w.path("path"), "query", query, "pattern", kind))
}

func askFolder(w *wish) (plan, bool) {
	query := bare(w.text("query"))
	if anything(query) {
		return not()
	}
	return asking("Which folder should I search, for example ~/Documents?", func(answer string) (string, bool) {
		s := w.g.sentence(answer, w.s.now)
		r := run{s: s, vocab: w.g.vocab}
		for i := range s.tokens {
			if r.pathSlot(capture{from: i}, func(int) bool { return true }) {
				return "search " + r.caps[0].path + " for " + query, true
			}
		}
		return "", false
	})
}

func writeFile(w *wish, add bool) (plan, bool) {
	text := w.text("text")
	if text == "" || !w.noLead() {
		return askContent(w)
	}
	for _, head := range []string{"the line ", "the text ", "the words ", "a line saying ", "the word "} {
		if len(text) > len(head) && strings.EqualFold(text[:len(head)], head) {
			text = strings.Trim(text[len(head):], `"“”`)
		}
	}
	return calling("write_file", arguments("path", w.path("path"), "content", text, "append", add))
}

func askContent(w *wish) (plan, bool) {
	p := w.path("path")
	if p == "" {
		return not()
	}
	return asking("What should I write into it?", func(answer string) (string, bool) {
		return "write to " + quotePath(p) + " " + answer, answer != ""
	})
}

// quotePath puts quotes around a path that needs them.
func quotePath(p string) string {
	if strings.ContainsAny(p, " \t") {
		return `"` + p + `"`
	}
	return p
}

func moveFile(w *wish) (plan, bool) {
	from, to := w.path("path_from"), w.path("path_to")
	if to == "" { // a new name in the same folder
		to = w.text("name")
		if to == "" || strings.ContainsAny(to, "/\\\n") {
			return not()
		}
	}
	if dir := w.path("path_dir"); dir != "" && !strings.ContainsAny(from, `/\`) {
		from = strings.TrimRight(dir, `/\`) + "/" + from
	}
	rename := w.says("rename") || w.says("name")
	if rename && !strings.ContainsAny(to, `/\`) {
		if i := strings.LastIndexAny(from, `/\`); i >= 0 {
			to = from[:i+1] + to
		}
	}
	return calling("move_file", arguments("source", from, "destination", to))
}

func trashFile(w *wish) (plan, bool) {
	if !w.noLead() {
		return not()
	}
	return calling("trash_file", arguments("path", w.path("path")))
}
