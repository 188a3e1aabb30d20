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
		"file.write":        func(w *intentDraft) (plan, bool) { return writeFile(w, false) },
		"file.write.none":   askContent,
		"file.append":       func(w *intentDraft) (plan, bool) { return writeFile(w, true) },
		"file.move":         moveFile,
		"file.trash":        trashFile,
		"file.none": func(*intentDraft) (plan, bool) {
			return planQuestion("Which file? Please include its path, such as “read ~/Documents/list.txt”.", nil)
		},
	}
}

func listFiles(w *intentDraft) (plan, bool) {
	p := w.pathOf("path")
	if !w.noLead() || isFile(p, w.g.lex) {
		return noPlan()
	}
	args := argsOf("path", p)
	if kind := w.slotNorm("kind"); kind != "" {
		glob, ok := w.fileGlob(kind)
		if !ok {
			return noPlan()
		}
		if glob != "" {
			args["pattern"] = glob
		}
	} else if glob, ok := w.kindSaid(); ok {
		args["pattern"] = glob
	}
	if tail := w.slotNorm("tail"); tail != "" {
		if !wantsSubfolders(tail) {
			return noPlan()
		}
		args["recursive"] = true
	}
	return planCall("list_directory", args)
}

// wantsSubfolders reports whether words request subfolders.
func wantsSubfolders(words string) bool {
	for _, w := range []string{"recursively", "subfolders", "sub-folders", "sub folders", "subdirectories", "folders below", "folders inside"} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// kindSaid finds a kind of file in the words before the path, as in "the PDF files in".
func (w *intentDraft) kindSaid() (string, bool) {
	c, _ := w.captureOf("path")
	for _, t := range w.s.tokens[:c.from] {
		if t.kind == word && t.norm != "text" {
			if glob, ok := w.g.lex.meaningOf("kinds", t.norm); ok {
				return glob, true
			}
		}
	}
	return "", false
}

// fileGlob converts "new PDF files" to *.pdf. It returns "" for any file. ok is false for an
// unknown kind.
func (w *intentDraft) fileGlob(words string) (string, bool) {
	found := ""
	for _, f := range strings.Fields(words) {
		f = strings.Trim(f, `"'“”`)
		if g, ok := w.g.lex.meaningOf("kinds", f); ok && (found == "" || found == g) {
			found = g
			continue
		}
		if strings.Contains(f, "*") && strings.Trim(f, "*?.") != "" {
			found = f
			continue
		}
		if strings.HasPrefix(f, ".") && w.g.lex.containsWord("extensions", f[1:]) {
			found = "*" + f
			continue
		}
		if !w.g.lex.containsWord("kind-noise", f) {
			return "", false
		}
	}
	return found, true
}

// isFile reports whether a path ends in a known extension.
func isFile(p string, lex *lexicon) bool {
	base := p[strings.LastIndexAny(p, `/\`)+1:]
	dot := strings.LastIndexByte(base, '.')
	return dot > 0 && lex.containsWord("extensions", strings.ToLower(base[dot+1:]))
}

func readFile(w *intentDraft) (plan, bool) {
	p := w.pathOf("path")
	if !w.noLead() {
		return noPlan()
	}
	if !isFile(p, w.g.lex) && !w.hasKeyword("file") && !w.hasKeyword("document") && (w.hasKeyword("show") || w.hasKeyword("open") || w.hasKeyword("view") || w.hasKeyword("list")) {
		return planCall("list_directory", argsOf("path", p))
	}
	args := argsOf("path", p)
	if n, ok := w.numberOf("number_lines"); ok {
		args["limit"] = int(n)
	}
	if from, ok := w.numberOf("number_from"); ok {
		args["offset"] = int(from)
		if to, ok := w.numberOf("number_to"); ok {
			if to < from {
				return noPlan()
			}
			args["limit"] = int(to-from) + 1
		}
	}
	return planCall("read_file", args)
}

func searchFiles(w *intentDraft) (plan, bool) {
	query := w.slotString("query")
	for _, head := range []string{"the word ", "the text ", "the phrase "} {
		query = strings.TrimPrefix(query, head)
	}
	query = bareName(strings.Trim(query, `"“”'`))
	if query == "" {
		return noPlan()
	}
	if g, ok := w.fileGlob(strings.ToLower(query)); ok && g != "" {
		return planCall("list_directory", argsOf("path", w.pathOf("path"), "pattern", g))
	}
	kind, ok := w.fileGlob(w.slotNorm("kind"))
	if !ok {
		return noPlan()
	}
	return planCall("search_files", argsOf("path", w.pathOf("path"), "query", query, "pattern", kind))
}

func askFolder(w *intentDraft) (plan, bool) {
	query := bareName(w.slotString("query"))
	if w.g.isUnspecific(query) {
		return noPlan()
	}
	return planQuestion("Which folder should I search, for example ~/Documents?", func(answer string) (string, bool) {
		s := w.g.parseSentence(answer, w.s.now)
		r := run{s: s, g: w.g}
		for i := range s.tokens {
			if r.pathSlot(capture{from: i}, func(int) bool { return true }) {
				return "search " + r.caps[0].path + " for " + query, true
			}
		}
		return "", false
	})
}

func writeFile(w *intentDraft, add bool) (plan, bool) {
	text := w.slotString("text")
	if text == "" || !w.noLead() {
		return askContent(w)
	}
	for _, head := range []string{"the line ", "the text ", "the words ", "a line saying ", "the word "} {
		if len(text) > len(head) && strings.EqualFold(text[:len(head)], head) {
			text = strings.Trim(text[len(head):], `"“”`)
		}
	}
	return planCall("write_file", argsOf("path", w.pathOf("path"), "content", text, "append", add))
}

func askContent(w *intentDraft) (plan, bool) {
	p := w.pathOf("path")
	if p == "" {
		return noPlan()
	}
	return planQuestion("What should I write to the file?", func(answer string) (string, bool) {
		return "write to " + quotePath(p) + " " + answer, answer != ""
	})
}

// quotePath quotes a path if necessary.
func quotePath(p string) string {
	if strings.ContainsAny(p, " \t") {
		return `"` + p + `"`
	}
	return p
}

func moveFile(w *intentDraft) (plan, bool) {
	from, to := w.pathOf("path_from"), w.pathOf("path_to")
	if to == "" { // a new name in the same folder
		to = w.slotString("name")
		if to == "" || strings.ContainsAny(to, "/\\\n") {
			return noPlan()
		}
	}
	if dir := w.pathOf("path_dir"); dir != "" && !strings.ContainsAny(from, `/\`) {
		from = strings.TrimRight(dir, `/\`) + "/" + from
	}
	rename := w.hasKeyword("rename") || w.hasKeyword("name")
	if rename && !strings.ContainsAny(to, `/\`) {
		if i := strings.LastIndexAny(from, `/\`); i >= 0 {
			to = from[:i+1] + to
		}
	}
	return planCall("move_file", argsOf("source", from, "destination", to))
}

func trashFile(w *intentDraft) (plan, bool) {
	if !w.noLead() {
		return noPlan()
	}
	return planCall("trash_file", argsOf("path", w.pathOf("path")))
}
