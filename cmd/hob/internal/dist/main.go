// Command dist builds the files for a release: icons, manual pages and completions (nothing else
// with -only files), the archives, the Linux packages and the macOS apps. `make dist` runs it; see
// docs/packaging.md.
//
// Builds are reproducible: files contain the commit time, but neither the time nor the place of the
// build.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options holds the options of a run.
type options struct {
	out, hob, version, nfpm, only, gcflags, ldflags string
	made                                            time.Time // time of the commit
}

// target is an operating system and architecture for which Hob is built.
type target struct{ os, arch string }

func buildTargets() []target {
	return []target{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

func main() {
	var o options
	var epoch int64
	flag.StringVar(&o.out, "out", "bin/dist", "output folder")
	flag.StringVar(&o.hob, "hob", "bin/hob", "hob program for this machine, which writes the manual and the completions")
	flag.StringVar(&o.version, "version", "0.0.0", "the version")
	flag.StringVar(&o.nfpm, "nfpm", "", "path of nfpm (empty: no Linux packages)")
	flag.StringVar(&o.only, "only", "", `"files": neither build nor pack`)
	flag.StringVar(&o.gcflags, "gcflags", "", "arguments for the compiler, each as -gcflags=PATTERN=FLAGS")
	flag.StringVar(&o.ldflags, "ldflags", "-s -w", "linker flags")
	flag.Int64Var(&epoch, "epoch", 0, "commit time, in seconds since 1970")
	flag.Parse()
	o.made = time.Unix(epoch, 0).UTC()
	if err := o.buildAll(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

func (o *options) buildAll(w io.Writer) error {
	if err := o.writeFiles(); err != nil || o.only == "files" {
		return err
	}
	for _, t := range buildTargets() {
		program, err := o.buildProgram(t)
		if err != nil {
			return err
		}
		if err := o.packArchive(t, program); err != nil {
			return err
		}
		switch {
		case t.os == "darwin":
			err = o.packApp(t, program)
		case t.os == "linux" && o.nfpm != "":
			err = o.buildPackages(t, program)
		}
		if err != nil {
			return err
		}
	}
	return o.writeChecksums(w)
}

func (o *options) outputPath(names ...string) string {
	return filepath.Join(append([]string{o.out}, names...)...)
}

// plainVersion returns the version in the form that package formats accept. It begins with a digit
// (Debian Policy 5.6.12). Its only hyphen precedes the prerelease suffix; rpm does not support
// hyphens. A commit without a tag sorts before every version.
func (o *options) plainVersion() string {
	v := strings.TrimPrefix(o.version, "v")
	if v == "" || v[0] < '0' || v[0] > '9' || !strings.Contains(v, ".") {
		v = "0.0.0-dev." + v
	}
	number, preview, there := strings.Cut(v, "-")
	if !there {
		return v
	}
	return number + "-" + strings.ReplaceAll(preview, "-", ".")
}

// writeFiles writes the files that the compiler does not build.
func (o *options) writeFiles() error {
	if err := o.writeIcons(); err != nil {
		return err
	}
	man, comp := o.outputPath("files", "man"), o.outputPath("files", "completions")
	if err := os.MkdirAll(comp, 0o755); err != nil { //nolint:gosec // everyone may read a release
		return err
	}
	hob, err := filepath.Abs(o.hob)
	if err != nil {
		return err
	}
	if err := runCommand(nil, hob, "man", man); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		out, err := exec.Command(hob, "completion", shell).Output() //nolint:noctx // ends when the user interrupts the build
		if err != nil {
			return fmt.Errorf("create the completions for %s: %w", shell, err)
		}
		if err := o.writeOutput(out, "files", "completions", "hob."+shell); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) writeOutput(data []byte, names ...string) error {
	path := o.outputPath(names...)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)) //nolint:gosec // everyone may read a release
}

// buildProgram builds the program for a target.
func (o *options) buildProgram(t target) (string, error) {
	name := "hob"
	if t.os == "windows" {
		name = "hob.exe"
	}
	path := o.outputPath("build", t.os+"_"+t.arch, name)
	env := []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "CGO_ENABLED=0"}
	return path, runCommand(env, cmp.Or(os.Getenv("GO"), "go"), slices.Concat([]string{"build", "-trimpath", "-ldflags", o.ldflags, "-o", path}, strings.Fields(o.gcflags), []string{"./cmd/hob"})...)
}

func runCommand(env []string, name string, args ...string) error {
	c := exec.Command(name, args...) //nolint:noctx // ends when the user interrupts the build
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}
