package command

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the code that one approval covers.
const (
	maxBound  = 2000     // files per approval
	maxTree   = 64 << 20 // total bytes in folders that are bound completely
	maxNested = 5        // shells inside shells
	maxBases  = 16       // base folders of relative paths
	maxLoose  = 10       // maximum descriptions of code that is not bound
	maxList   = 64 << 10 // maximum bytes of a file that is read as a list of names
)

// binding collects digests of the code that a command would run. An approval is valid only for that
// code: the command does not run if the code has changed. If in doubt, binding collects more than
// necessary, because any file that the command names may be a script.
type binding struct {
	look      *analysis
	all       map[string]string // path -> digest, "absent" or "unreadable"
	values    map[string][]string
	loose     []string // descriptions of code that cannot be bound
	tree      int64    // total bytes of files in bound folders
	bindsCode bool     // the command may run code that is not part of the system
	lists     bool     // the output of other programs may name files that are run
	text      string   // the command text
	// open contains variables that may have unknown values.
	open map[string]bool
}

// writeDigests appends the digests. Above the limit, it combines the remaining digests into one.
func (b *binding) writeDigests(out *strings.Builder) {
	paths := make([]string, 0, len(b.all))
	for path := range b.all {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	rest := sha256.New()
	for i, path := range paths {
		sum := b.all[path]
		if i < maxNamed {
			out.WriteString("; " + quoteWord(path) + " is " + sum[:min(32, len(sum))])
		}
		fmt.Fprintf(rest, "%s\x00%s\x00", path, sum)
	}
	if len(paths) > maxNamed {
		fmt.Fprintf(out, "; with %d more files: %x", len(paths)-maxNamed, rest.Sum(nil)[:16])
	}
}

// noteUnbound records code that the approval cannot cover.
func (b *binding) noteUnbound(text string) {
	if !slices.Contains(b.loose, text) && len(b.loose) < maxLoose {
		b.loose = append(b.loose, text)
	}
}

// addDigest binds a path to a digest. check is true if users other than the administrator can
// change the file.
func (b *binding) addDigest(path, sum string, check bool) {
	if _, ok := b.all[path]; !ok && len(b.all) >= maxBound {
		b.noteUnbound("files after the first " + fmt.Sprint(maxBound))
		return
	}
	b.all[path] = sum
	if check {
		b.look.verdict.Plan.Digests[path] = sum
	}
}

// bindFile binds a regular file.
func (b *binding) bindFile(path string) {
	if _, ok := b.all[path]; ok {
		return
	}
	sum, err := b.look.judge.fileDigest(path)
	if err != nil {
		sum = unreadable
		b.noteUnbound("the content of " + filepath.Base(path) + " (" + describeReadError(err) + ")")
	}
	b.addDigest(path, sum, true)
}

func describeReadError(err error) string {
	if errors.Is(err, errTooBig) {
		return "file is too large"
	}
	return "file cannot be read"
}

// bindProgram binds a program, and the interpreter that its first line names.
func (b *binding) bindProgram(path string) {
	if _, ok := b.all[path]; ok || path == "" {
		return
	}
	sum, err := b.look.judge.fileDigest(path)
	if err != nil {
		sum = unreadable
	}
	p := b.look.judge.findProgram("/", path)
	b.addDigest(path, sum, !p.system)
	if p.system || !b.bindsCode {
		return
	}
	if line := firstLine(path); strings.HasPrefix(line, "#!") {
		b.noteUnbound("the scripts and modules that " + filepath.Base(path) + " starts or reads")
		for _, w := range strings.Fields(line[2:]) {
			b.bindProgram(b.look.judge.findProgram(filepath.Dir(path), w).path)
		}
	}
}

// firstLine returns a file's content up to the first line break.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 256)
	n, _ := f.Read(buf) // an unreadable file has no first line
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	return line
}

// bindOptionalFile binds a file that a program reads if the file exists.
func (b *binding) bindOptionalFile(path string) (found bool) {
	p := b.look.judge.resolvePlace("/", path)
	if p.regular {
		b.bindFile(p.abs)
		return true
	}
	if !p.exists {
		b.addDigest(p.abs, absent, true)
	}
	return p.exists
}

// bindFolder binds all files below a folder.
func (b *binding) bindFolder(dir string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if list, err := os.ReadDir(path); err == nil {
				b.addDigest(path+"/", digestNames(list), false)
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		if b.tree += info.Size(); b.tree > maxTree || len(b.all) >= maxBound {
			return errTooBig
		}
		b.bindFile(path)
		return nil
	})
	if err != nil {
		b.noteUnbound("the files below " + filepath.Base(dir) + " (too many, or unreadable)")
	}
}

// bindCode binds the code that a shell would run for text. dirs are the base folders of the
// relative paths in it.
func (b *binding) bindCode(file *syntax.File, text string, dirs []string, depth int) {
	if depth > maxNested {
		b.noteUnbound("commands of the innermost shell")
		return
	}
	outer := b.text
	b.text = text
	defer func() { b.text = outer }()
	dirs = b.collectVariables(file, slices.Clone(dirs))
	b.lists = b.lists && b.mayRunFiles(file)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Op == syntax.RdrIn || n.Op == syntax.RdrInOut {
				b.bindFiles(valuesOf(b.expandWord(dirs, n.Word)), dirs)
			}
		case *syntax.Assign:
			if n.Value != nil {
				for _, v := range b.expandWord(dirs, n.Value) {
					b.bindFiles(append(strings.Split(v.value, ":"), v.value), dirs)
				}
			}
		case *syntax.WordIter:
			for _, w := range n.Items {
				b.bindFiles(valuesOf(b.expandWord(dirs, w)), dirs)
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				b.notePipedShell(n)
			}
		case *syntax.CallExpr:
			var args []boundWord
			for _, w := range n.Args {
				args = append(args, b.expandWord(dirs, w)...)
			}
			b.bindCall(args, dirs, depth)
		}
		return true
	})
}

// collectVariables collects the values of variables, the folders that are entered, and whether
// other programs print file names.
func (b *binding) collectVariables(file *syntax.File, dirs []string) []string {
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil && n.Value != nil {
				b.setVariable(n.Name.Value, b.expandWord(dirs, n.Value))
			}
		case *syntax.WordIter:
			for _, w := range n.Items {
				b.setVariable(n.Name.Value, b.expandWord(dirs, w))
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			switch name := n.Args[0].Lit(); {
			case (name == "cd" || name == "pushd") && len(n.Args) > 1:
				dirs = b.addFolders(dirs, valuesOf(b.expandWord(dirs, n.Args[len(n.Args)-1])))
			case name == "find":
				b.lists = b.lists || slices.ContainsFunc(n.Args, func(w *syntax.Word) bool {
					return strings.HasPrefix(w.Lit(), "-exec") || strings.HasPrefix(w.Lit(), "-ok")
				})
			case slices.ContainsFunc(n.Args, func(w *syntax.Word) bool {
				return slices.Contains([]string{"xargs", "parallel", "read", "mapfile", "readarray"}, w.Lit())
			}):
				b.lists = true
				for _, w := range n.Args[1:] {
					b.open[w.Lit()] = true // the command read sets the variable
				}
			}
		case *syntax.CmdSubst:
			b.lists = true
		}
		return true
	})
	return dirs
}

// mayRunFiles reports whether a command may run files that it does not name, because it uses an
// interpreter or an unknown program.
func (b *binding) mayRunFiles(file *syntax.File) (found bool) {
	syntax.Walk(file, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		if !ok || found {
			return !found
		}
		for i, w := range c.Args {
			lit := strings.Trim(b.wordSource(w), `'"`)
			for _, t := range strings.FieldsFunc(lit, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()$`'\"", r) }) {
				t = filepath.Base(t)
				found = found || isShell(t) || isInterpreter(t) || t == "source" || t == "eval" || t == "exec" || t == "make"
			}
			before := ""
			if i > 0 {
				before = c.Args[i-1].Lit()
			}
			runs := i == 0 && w.Lit() == "" || i == 0 && lit == "." || (lit == "{}" || strings.HasPrefix(lit, "./")) && (strings.HasPrefix(before, "-exec") || strings.HasPrefix(before, "-ok") || before == "xargs")
			found = found || runs
		}
		return !found
	})
	return found
}

// setVariable records values of a variable.
func (b *binding) setVariable(name string, values []boundWord) {
	for _, v := range values {
		if v.unknown {
			b.open[name] = true
		} else {
			b.values[name] = append(b.values[name], v.value)
		}
	}
}

// addFolders adds folders to the base folders of paths.
func (b *binding) addFolders(dirs, targets []string) []string {
	for _, dir := range slices.Clone(dirs) {
		for _, t := range targets {
			p := b.look.judge.resolvePlace(dir, t)
			if !p.folder || slices.Contains(dirs, p.abs) {
				continue
			}
			if len(dirs) >= maxBases {
				b.noteUnbound("files read from the folder " + t)
				continue
			}
			dirs = append(dirs, p.abs)
		}
	}
	return dirs
}

// bindFiles binds all files named by a word or a part of a word.
func (b *binding) bindFiles(words, dirs []string) {
	for _, w := range words {
		for _, part := range pathPieces(w) {
			for _, dir := range dirs {
				if p := b.look.judge.resolvePlace(dir, part); p.regular {
					b.bindFile(p.abs)
					b.bindNamedFiles(p.abs, dirs)
				}
			}
		}
	}
}

// pathPieces returns the parts of a word that may be a path, as in "--file=x", "-fx" and "@x".
func pathPieces(w string) []string {
	out := []string{w}
	if _, v, ok := strings.Cut(w, "="); ok {
		out = append(out, v)
	}
	if len(w) > 2 && w[0] == '-' && w[1] != '-' {
		out = append(out, w[2:])
	}
	return append(out, strings.TrimLeft(w, "@:+"))
}

// bindNamedFiles binds the files that a file lists, if a command reads names from that file.
func (b *binding) bindNamedFiles(path string, dirs []string) {
	if !b.lists || sizeOf(path) > maxList {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for i, w := range strings.Fields(string(text)) {
		if i > maxNamed*maxBases {
			b.noteUnbound("the files that " + filepath.Base(path) + " names")
			return
		}
		for _, dir := range dirs {
			if p := b.look.judge.resolvePlace(dir, w); p.regular {
				b.bindFile(p.abs)
			}
		}
	}
}
