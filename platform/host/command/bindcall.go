package command

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// bindCall binds the code that a simple command would run.
func (b *binding) bindCall(args []boundWord, dirs []string, depth int) {
	if len(args) == 0 {
		return
	}
	name := filepath.Base(args[0].value)
	if args[0].unknown {
		b.noteUnbound("the program that " + args[0].value + " names")
	}
	values := valuesOf(args)
	dirs = b.startFolders(values, dirs)
	b.bindFiles(values[1:], dirs)
	nests := isWrapper(name) || isShell(name) || slices.Contains([]string{"eval", "builtin", ".", "source", "trap", "git", "ssh", "screen"}, name)
	for i := range min(len(values), 60) {
		if i > 0 && !nests {
			break
		}
		for _, dir := range dirs {
			b.bindProgram(b.look.judge.findProgram(dir, values[i]).path)
		}
		b.bindInterpreted(args[i:], dirs)
	}
	if !nests {
		return
	}
	for _, a := range args[1:] {
		if !a.unknown && strings.ContainsAny(a.value, " \t\n;|&<>()$`") {
			b.bindNestedText(strings.TrimPrefix(strings.TrimPrefix(a.value, "--split-string="), "-S"), dirs, depth)
		}
	}
	if name == "eval" {
		b.bindNestedText(strings.Join(values[1:], " "), dirs, depth)
	}
}

// bindNestedText binds the code in a string that a shell inside the command would run.
func (b *binding) bindNestedText(text string, dirs []string, depth int) {
	if file, err := parseBash(text); err == nil {
		b.bindCode(file, text, dirs, depth+1)
	}
}

// startFolders adds the working folders that options set for a program.
func (b *binding) startFolders(args, dirs []string) []string {
	for i, a := range args {
		for _, option := range []string{"-C", "--directory", "--chdir", "--prefix", "--cwd", "--dir", "--cd", "--project", "--manifest-path"} {
			v, attached := strings.CutPrefix(a, option)
			switch {
			case a == option && i+1 < len(args):
				dirs = b.addFolders(slices.Clone(dirs), args[i+1:i+2])
			case attached && v != "":
				dirs = b.addFolders(slices.Clone(dirs), []string{strings.TrimPrefix(v, "=")})
			}
		}
	}
	return dirs
}

// bindInterpreted binds the code that a program reads in addition to the files among its arguments,
// and records code that cannot be bound.
func (b *binding) bindInterpreted(args []boundWord, dirs []string) {
	name := filepath.Base(args[0].value)
	operand := firstOperand(args[1:])
	switch {
	case isShell(name), name == ".", name == "source":
		if operand.unknown {
			b.noteUnbound("the code that " + operand.value + " stands for")
		} else if operand.value != "" {
			b.noteUnbound("the scripts that " + truncateRunes(filepath.Base(operand.value), 60) + " starts or reads")
		}
	case isInterpreter(name):
		b.noteUnbound("the modules that " + name + " loads")
		if operand.unknown {
			b.noteUnbound("the code that " + operand.value + " stands for")
		}
		b.bindPythonModule(args, dirs)
	case name == "find" && b.lists && slices.ContainsFunc(args, func(a boundWord) bool {
		return slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, a.value)
	}):
		b.bindTrees(args[1:], dirs)
	case startsCommands(name):
		b.noteUnbound("the commands and files that the program of " + name + " starts or reads")
	case name == "xargs" || name == "parallel":
		b.noteUnbound("the names that " + name + " reads")
	case name == "ssh" || name == "docker" || name == "podman" || name == "kubectl":
		b.noteUnbound("programs that run on the other side of " + name)
	}
	if b.lists && slices.Contains([]string{"find", "ls", "fd", "rg", "grep", "git", "printf", "echo"}, name) {
		b.bindTrees(args[1:], dirs)
	}
	if canInstallCode(args) {
		b.noteUnbound("what " + name + " downloads and installs")
	}
	b.bindConfigFiles(name, dirs)
}

// firstOperand returns the first word that is not an option.
func firstOperand(args []boundWord) boundWord {
	for _, a := range args {
		if a.unknown || !strings.HasPrefix(a.value, "-") {
			return a
		}
	}
	return boundWord{}
}

// bindTrees binds all files below the folders among the arguments, or below the working folder
// if the arguments name none.
func (b *binding) bindTrees(args []boundWord, dirs []string) {
	found := false
	for _, a := range args {
		if strings.HasPrefix(a.value, "-") {
			continue
		}
		for _, dir := range dirs {
			if p := b.look.judge.resolvePlace(dir, a.value); p.folder && p.inside {
				found = true
				b.bindFolder(p.abs)
			}
		}
	}
	if !found && len(args) > 0 && args[0].value != "" && strings.HasPrefix(args[0].value, "-") || len(args) == 0 {
		for _, dir := range dirs {
			b.bindFolder(dir)
		}
	}
}

// startsCommands reports whether a program executes code from its arguments in a language that can
// run commands, such as awk (system and pipes) or sed (e).
func startsCommands(name string) bool {
	return slices.Contains([]string{"awk", "gawk", "mawk", "nawk", "original-awk", "sed", "gsed", "ed", "ex", "vi", "vim", "nvim", "emacs", "m4", "dc", "expect", "gdb", "sqlite3"}, name)
}

// bindPythonModule binds the code that "python -m NAME" runs.
func (b *binding) bindPythonModule(args []boundWord, dirs []string) {
	for i, a := range args {
		name, ok := strings.CutPrefix(a.value, "-m")
		if ok && name == "" && i+1 < len(args) {
			name = args[i+1].value
		}
		if !ok || name == "" || strings.ContainsAny(name, "/\x00") {
			continue
		}
		path := strings.ReplaceAll(name, ".", "/")
		for _, dir := range dirs {
			for _, file := range []string{path + ".py", path + "/__init__.py", path + "/__main__.py"} {
				b.bindOptionalFile(filepath.Join(dir, file))
			}
		}
		return
	}
}

// notePipedShell records the input of a shell at the end of a pipe.
func (b *binding) notePipedShell(n *syntax.BinaryCmd) {
	last, ok := n.Y.Cmd.(*syntax.CallExpr)
	if !ok || len(last.Args) == 0 {
		return
	}
	name := filepath.Base(last.Args[0].Lit())
	if !isShell(name) && !isInterpreter(name) && !slices.Contains([]string{"sudo", "source", "."}, name) {
		return
	}
	first, ok := n.X.Cmd.(*syntax.CallExpr)
	if ok && len(first.Args) > 0 && slices.Contains([]string{"cat", "echo", "printf", "head", "tail", "sed"}, first.Args[0].Lit()) {
		return // the output depends only on files and arguments, which are bound
	}
	b.noteUnbound("code that is printed for " + name + " to run")
}

func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "nu", "pwsh", "elvish", "xonsh"}, name)
}

func isInterpreter(name string) bool {
	return strings.HasPrefix(name, "python") || slices.Contains([]string{"perl", "ruby", "node", "deno", "bun", "php", "lua", "Rscript", "java", "tclsh", "osascript"}, name)
}

// canInstallCode reports whether a program is known to download and run code.
func canInstallCode(args []boundWord) bool {
	name, first := filepath.Base(args[0].value), firstOperand(args[1:]).value
	if slices.Contains([]string{"npx", "bunx", "uvx", "pipx", "apt", "apt-get", "dnf", "yum", "zypper", "pacman", "apk", "brew", "snap", "flatpak"}, name) {
		return true
	}
	return slices.Contains([]string{"npm", "pnpm", "yarn", "bun", "pip", "pip3", "uv", "gem", "cargo", "go", "bundle", "composer", "poetry"}, name) &&
		slices.Contains([]string{"install", "i", "ci", "add", "get", "exec", "dlx", "create", "init", "sync", "update", "upgrade", "run", "x"}, first)
}

// bindConfigFiles binds the build files that a program reads from its folder and, if the program
// searches upwards, from the parent folders.
func (b *binding) bindConfigFiles(name string, dirs []string) {
	for _, x := range buildFiles() {
		if !slices.Contains(x.programs, name) {
			continue
		}
		b.noteUnbound(x.loose)
		for _, dir := range dirs {
			for range maxBases {
				found := false
				for _, file := range x.files {
					found = b.bindOptionalFile(filepath.Join(dir, file)) || found
				}
				if up := filepath.Dir(dir); !x.up || found || up == dir || !b.look.judge.resolvePlace("/", up).inside {
					break
				}
				dir = filepath.Dir(dir)
			}
		}
	}
}

// buildFile is a kind of file that specifies what a program runs.
type buildFile struct {
	programs, files []string
	up              bool   // the program also searches the parent folders
	loose           string // description of code that cannot be bound
}

func buildFiles() []buildFile {
	return []buildFile{
		{programs: []string{"make", "gmake", "bmake"}, files: []string{"GNUmakefile", "makefile", "Makefile", "BSDmakefile"}, loose: "files and programs that the Makefile includes and starts"},
		{programs: []string{"npm", "npx", "yarn", "pnpm", "bun", "bunx", "node"}, files: []string{"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"}, up: true, loose: "the scripts and modules that package.json names"},
		{programs: []string{"just"}, files: []string{"justfile", "Justfile", ".justfile"}, up: true, loose: "files and programs that the justfile imports and starts"},
		{programs: []string{"task"}, files: []string{"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"}, up: true, loose: "files and programs that the Taskfile includes and starts"},
		{programs: []string{"rake"}, files: []string{"Rakefile", "rakefile", "Rakefile.rb"}, up: true, loose: "files that the Rakefile loads"},
		{programs: []string{"bundle"}, files: []string{"Gemfile", "Gemfile.lock", ".bundle/config"}, up: true, loose: "the gems that the Gemfile names"},
		{programs: []string{"ninja"}, files: []string{"build.ninja"}, loose: "what build.ninja starts"},
		{programs: []string{"cmake", "ctest"}, files: []string{"CMakeLists.txt", "CMakePresets.json", "CTestTestfile.cmake"}, loose: "files and programs that CMakeLists.txt includes and starts"},
		{programs: []string{"meson"}, files: []string{"meson.build", "meson_options.txt"}, loose: "what meson.build starts"},
		{programs: []string{"ant"}, files: []string{"build.xml"}, loose: "files and programs that build.xml imports and starts"},
		{programs: []string{"mvn", "mvnw"}, files: []string{"pom.xml", ".mvn/extensions.xml", ".mvn/jvm.config"}, loose: "the plugins that pom.xml names"},
		{programs: []string{"gradle", "gradlew"}, files: []string{"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"}, up: true, loose: "the plugins that the build file names"},
		{programs: []string{"cargo"}, files: []string{"Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config"}, up: true, loose: "the source files and crates that Cargo.toml names"},
		{programs: []string{"go"}, files: []string{"go.mod", "go.work"}, up: true, loose: "the source files and modules that go builds"},
		{programs: []string{"pytest", "tox", "nox"}, files: []string{"conftest.py", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py"}, up: true, loose: "the tests and modules that are loaded"},
		{programs: []string{"pip", "pip3", "uv", "poetry", "pipx"}, files: []string{"setup.py", "pyproject.toml", "setup.cfg"}, loose: "the packages that are built"},
		{programs: []string{"docker", "podman", "docker-compose"}, files: []string{"Dockerfile", "Containerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}, loose: "the images that are run"},
		{programs: []string{"vagrant"}, files: []string{"Vagrantfile"}, up: true, loose: "files that the Vagrantfile loads"},
		{programs: []string{"composer", "php"}, files: []string{"composer.json"}, loose: "the packages that composer.json names"},
		{programs: []string{"git"}, files: []string{".git/config", ".gitattributes", ".git/hooks/pre-commit", ".git/hooks/commit-msg", ".git/hooks/prepare-commit-msg", ".git/hooks/post-commit", ".git/hooks/pre-push", ".git/hooks/post-checkout", ".git/hooks/post-merge"}, up: true, loose: "the hooks and filters of the repository"},
	}
}
