package document

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/host/system"
)

// Helper is the hidden command that parses one file in a separate process; see Serve.
const Helper = "document-read"

// Limits of a process that reads a file.
const (
	helperMemory = 512 << 20
	// helperExit is the exit status of a worker that ended itself because of its memory.
	helperExit = 77
	// helperAnswer is the maximum size of a response in bytes, not including the text of the file.
	helperAnswer = 4 << 20
)

// workerRequest is the request to the worker, on one line before the file.
type workerRequest struct {
	Limits Limits `json:"limits"`
	Kind   string `json:"kind"` // "pdf", "mail", "mailbox"
}

// workerResponse is the worker's response.
type workerResponse struct {
	Document *Document       `json:"document,omitempty"`
	Mails    []readMail      `json:"mails,omitempty"`
	Skipped  []workerFailure `json:"skipped,omitempty"`
	Error    *workerFailure  `json:"error,omitempty"`
}

// workerFailure is an error in the form in which it is sent between the two processes.
type workerFailure struct {
	Name string `json:"name,omitempty"` // name of the skipped part
	Kind int    `json:"kind"`           // index of the error's kind, starting at 1; 0 if it is of no known kind
	Text string `json:"text"`
}

func errorKinds() []error {
	return []error{ErrUnsupported, ErrBroken, ErrEncrypted, ErrNoText, ErrTooLarge}
}

func encodeFailure(name string, err error) workerFailure {
	f := workerFailure{Name: name, Text: singleLine(err.Error(), 300)}
	for i, k := range errorKinds() {
		if errors.Is(err, k) {
			f.Kind = i + 1
		}
	}
	return f
}

// toError converts the failure back to an error. A failure without a kind becomes ErrBroken.
func (f workerFailure) toError() error {
	text := singleLine(f.Text, 400)
	if f.Kind > 0 && f.Kind <= len(errorKinds()) {
		return &workerError{text, errorKinds()[f.Kind-1]}
	}
	return newBrokenError("%s", text)
}

// workerError is an error from the worker process.
type workerError struct {
	text string
	kind error
}

func (e *workerError) Error() string { return e.text }

func (e *workerError) Unwrap() error { return e.kind }

// parseInWorker parses a PDF in a worker process, which can be killed if it needs too much time or
// memory. This is necessary because the PDF library trusts the sizes in a file and cannot be
// canceled. Email is parsed in the worker as well.
func (p *parser) parseInWorker(_ string, data []byte) (*Document, error) {
	if len(p.limits.Helper) == 0 {
		return nil, fmt.Errorf("%w: reading it needs a worker process, but the program cannot start one", ErrUnsupported)
	}
	a, err := p.callWorker(workerRequest{Limits: p.limits, Kind: "pdf"}, data, int64(p.limits.Text)*3+helperAnswer)
	switch {
	case err != nil:
		return nil, err
	case a.Document == nil:
		return nil, ErrNoText
	}
	return a.Document, nil
}

// callWorker lets the worker parse a file. It accepts a response of up to most bytes.
func (p *parser) callWorker(w workerRequest, data []byte, most int64) (a workerResponse, err error) {
	w.Limits.Helper = nil
	head, err := json.Marshal(w)
	if err != nil {
		return a, err
	}
	out, ended, err := runHelper(p.ctx, p.limits.Helper, append(head, '\n'), data, most)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, newBrokenError("reading the file exceeded %d MB of memory or crashed the worker process (%s)", helperMemory>>20, osrun.DescribeExit(ended))
	}
	for _, s := range a.Skipped {
		p.skipped = append(p.skipped, Skipped{Name: singleLine(s.Name, 120), Err: s.toError()})
	}
	if a.Error != nil {
		return a, a.Error.toError()
	}
	return a, nil
}

// runHelper starts the worker and sends it head and data. It returns at most limit bytes of output,
// and how the worker ended. It returns an error only if ctx ended or the worker could not be
// started.
func runHelper(ctx context.Context, args []string, head, data []byte, limit int64) (out []byte, ended, err error) {
	inR, inW, err := osrun.Pipe()
	if err != nil {
		return nil, nil, err
	}
	outR, outW, err := osrun.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, inR.Close(), inW.Close())
	}
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx,gosec // this program; the code below ends its whole process tree
	cmd.Stdin, cmd.Stdout = inR, outW
	cmd.Dir, cmd.Env = os.TempDir(), helperEnv()
	tree, err := osrun.Start(cmd)
	_, _ = inR.Close(), outW.Close() // the child process has its own copies
	if err != nil {
		return nil, nil, errors.Join(err, inW.Close(), outR.Close())
	}
	var work sync.WaitGroup
	work.Go(func() {
		_, _ = inW.Write(head) // ignore the error: if the worker died, its exit status explains why writing failed
		_, _ = inW.Write(data)
		_ = inW.Close()
	})
	work.Go(func() {
		out, _ = io.ReadAll(io.LimitReader(outR, limit)) // the end of the child process ends the read
		_ = outR.Close()
	})
	select {
	case <-tree.Done():
	case <-ctx.Done():
		tree.Kill()
		<-tree.Done()
	}
	work.Wait()
	return out, tree.Err(), ctx.Err()
}

// helperEnv returns the worker's environment: the variables that a program needs to start, but no
// credentials.
func helperEnv() []string {
	env := []string{system.Marker + "=document", "GOTRACEBACK=none"}
	if root := os.Getenv("SystemRoot"); root != "" {
		env = append(env, "SystemRoot="+root)
	}
	if race := os.Getenv("GORACE"); race != "" { // this variable is set by tests that run with the race detector
		env = append(env, "GORACE="+race)
	}
	return env
}

// Serve reads one file from in, writes its content to out and returns the exit status. It sets its
// own resource limits first. It also exits after the time limit, in case the parent has died.
func Serve(in io.Reader, out io.Writer) int {
	if err := limitResources(helperMemory); err != nil {
		return 1
	}
	debug.SetMemoryLimit(helperMemory * 3 / 4)
	go watchMemory()
	var w workerRequest
	r := bufio.NewReader(in)
	head, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(head, &w)
	}
	if err != nil {
		return 1
	}
	w.Limits = w.Limits.withDefaults()
	time.AfterFunc(w.Limits.Time+time.Second, func() { os.Exit(1) })
	data, err := io.ReadAll(io.LimitReader(r, w.Limits.File+1))
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.Limits.Time)
	defer cancel()
	p := &parser{ctx: ctx, limits: w.Limits, parts: w.Limits.Parts}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if e.Encode(p.answerRequest(w.Kind, data)) != nil {
		return 1
	}
	return 0
}

// answerRequest parses the file. If the library panics, it reports the file as broken.
func (p *parser) answerRequest(kind string, data []byte) (a workerResponse) {
	defer func() {
		if x := recover(); x != nil {
			f := encodeFailure("", newBrokenError("%.200v", x))
			a = workerResponse{Error: &f}
		}
	}()
	var err error
	if kind == "pdf" {
		a.Document, err = p.parsePDF(data)
	} else {
		a.Mails, err = p.mailsIn(kind, data, 0)
	}
	if err != nil {
		f := encodeFailure("", err)
		return workerResponse{Error: &f}
	}
	if a.Document != nil {
		p.truncateDocument(a.Document)
	}
	for _, s := range p.skipped {
		a.Skipped = append(a.Skipped, encodeFailure(s.Name, s.Err))
	}
	return a
}

// watchMemory ends the process when it exceeds the memory limit, if the operating system does not
// enforce it.
func watchMemory() {
	for range time.Tick(50 * time.Millisecond) {
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.Sys-m.HeapReleased > helperMemory {
			os.Exit(helperExit)
		}
	}
}

// endings lists the file name extensions of each programming language.
const endings = `Go .go|Python .py .pyi|JavaScript .js .mjs .cjs .jsx|TypeScript .ts .tsx|Java .java|Kotlin .kt .kts|C .c .h|C++ .cc .cpp .cxx .hpp .hh|C# .cs|
Rust .rs|Ruby .rb|PHP .php|Swift .swift|Scala .scala|Perl .pl .pm|Lua .lua|R .r|Julia .jl|Haskell .hs|OCaml .ml .mli|Elixir .ex .exs|Erlang .erl|Clojure .clj|
Dart .dart|Shell .sh .bash .zsh .fish|PowerShell .ps1|SQL .sql|CSS .css .scss .less|XML .xml .xsd .xsl .svg|YAML .yaml .yml|TOML .toml|INI .ini .cfg .conf|
Zig .zig|Nim .nim|Vue .vue|Svelte .svelte|TeX .tex .bib|Protobuf .proto`

// sourceLanguage returns the language for a file extension, or "" if it is not that of source code.
func sourceLanguage(ext string) string {
	for l := range strings.SplitSeq(endings, "|") {
		words := strings.Fields(l)
		if slices.Contains(words[1:], ext) {
			return words[0]
		}
	}
	return ""
}

// parseCode keeps the lines unchanged. The splitter decides where to divide them.
func (p *parser) parseCode(name string, data []byte) (*Document, error) {
	s, err := decodeOrError(data)
	if err != nil {
		return nil, err
	}
	return &Document{
		Title: path.Base(strings.ReplaceAll(name, `\`, "/")), Language: sourceLanguage(strings.ToLower(path.Ext(name))),
		Sections: []Section{{Text: s, Code: true}},
	}, nil
}
