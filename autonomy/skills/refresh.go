package skills

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hob/platform/text/sorting"
	"hob/templates"
)

// refreshSkills reads the files that have changed. The caller must have locked mu.
func (l *Library) refreshSkills() {
	top, trust, template := stampFile(l.o.Dir), stampFile(l.o.Trust), fileStamp{}
	if l.o.Templates != "" {
		template = stampFile(templates.StatePath(l.o.Templates))
	}
	due := len(l.folders) > 0 && time.Since(l.scanned) >= rescanAfter
	if top == l.top && trust == l.trust && template == l.template && !due {
		return
	}
	if template != l.template {
		l.readTemplate()
		l.template = template
	}
	if top != l.top || trust != l.trust || due {
		l.readFolders()
		l.top, l.trust, l.scanned = top, trust, time.Now()
	}
	l.mergeLists()
}

func stampFile(path string) fileStamp {
	fi, err := os.Stat(path)
	if err != nil {
		return fileStamp{} // a missing file and one that cannot be read have no skills
	}
	return fileStamp{fi.ModTime(), fi.Size()}
}

// readTemplate reads the skills of the active template.
func (l *Library) readTemplate() {
	l.active = nil
	now, err := templates.InUse(l.o.Templates)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.reportProblem("template", err)
		return
	}
	state := StateUntrusted
	if now.Origin == templates.Builtin && templates.IsBuiltin(now.Name) {
		state = StateTrusted
	}
	for _, k := range now.Skills {
		l.active = append(l.active, &Skill{
			Manifest: Manifest{Name: k.Name, Description: cmp.Or(k.Description, k.Name)}, Origin: FromTemplate, From: now.Name, State: state, text: k.Text,
		})
	}
}

// readFolders reads the folders in Dir that have changed.
func (l *Library) readFolders() {
	trusted, err := readTrust(l.o.Trust)
	if err != nil {
		l.reportProblem("trust", err)
	}
	names, err := skillFolders(l.o.Dir)
	if err != nil {
		l.reportProblem("folder", err)
	}
	now := map[string]loadedFolder{}
	for _, name := range names {
		dir := filepath.Join(l.o.Dir, name)
		stamp, err := stampFolder(dir)
		known, ok := l.folders[name]
		if err != nil || !ok || known.stamp != stamp {
			known = loadedFolder{stamp, loadFolder(dir, name, err)}
		}
		if known.skill.State != StateInvalid {
			s := *known.skill // other goroutines may be reading the old value
			trusted.applyTo(name, &s)
			known.skill = &s
		} else {
			l.reportProblem(name, errors.New(known.skill.Problem))
		}
		now[name] = known
	}
	l.folders = now
}

// skillFolders lists the folders with skills, in order. Names that begin with a dot are not skills.
func skillFolders(dir string) ([]string, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
			continue
		}
		out = append(out, e.Name())
	}
	if len(out) > maxSkills {
		return out[:maxSkills], fmt.Errorf("%s contains more than %d skills; only the first ones are used", dir, maxSkills)
	}
	return out, nil
}

// loadFolder reads one folder. It never fails: a folder with mistakes becomes an invalid skill.
func loadFolder(dir, name string, err error) *Skill {
	var s *Skill
	if fi, lerr := os.Lstat(dir); err == nil && (lerr != nil || !fi.IsDir()) {
		err = errors.Join(lerr, fmt.Errorf("%w: %s is a link or not a folder; copy the folder instead", ErrInvalid, shortValue(name)))
	}
	if err == nil {
		var t tree
		if t, err = readTree(dir, false); err == nil {
			s, err = t.parseSkill(name)
		}
	}
	if err != nil {
		return &Skill{Manifest: Manifest{Name: name}, Origin: FromFolder, State: StateInvalid, Problem: err.Error(), Dir: dir}
	}
	s.Dir = dir
	return s
}

// mergeLists combines the sources. If several skills have the same name, a trusted one is used, then
// a folder before a template. The caller must have locked mu.
func (l *Library) mergeLists() {
	best := map[string]*Skill{}
	add := func(s *Skill) {
		if old, ok := best[s.Name]; !ok || s.Trusted() && !old.Trusted() {
			best[s.Name] = s
		}
	}
	for _, f := range l.folders {
		add(f.skill)
	}
	for _, s := range l.active {
		add(s)
	}
	list := make([]*Skill, 0, len(best))
	for _, s := range best {
		list = append(list, s)
	}
	sorting.ByFunc(list, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	l.list = list
}

// reportProblem logs a problem once. The caller must have locked mu.
func (l *Library) reportProblem(what string, err error) {
	if l.reported[what] != err.Error() {
		l.reported[what] = err.Error()
		l.o.Log.Warn("skill not usable", "skill", what, "err", err)
	}
}
