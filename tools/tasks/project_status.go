package tasks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/knowledge"
	"hob/platform/host/gitrepo"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Folders finds and reads the folders of projects; *files.Files implements it.
type Folders interface {
	// Locate resolves a path that the user allows Hob to read.
	Locate(path string) (abs string, folder bool, err error)
	// FindFolder finds the folder with a name in the allowed folders.
	FindFolder(ctx context.Context, name string) (abs string, found bool, err error)
	// WalkDocuments visits the files below a folder. left describes the omitted ones.
	WalkDocuments(ctx context.Context, path string, visit func(knowledge.File) error) (left string, err error)
	// Show shortens a path for the user.
	Show(path string) string
}

// Limits of a project report.
const (
	projectTime    = 40 * time.Second
	projectListed  = 10 // tasks, files and commits per list
	projectDefault = 7  // days
	projectMaxDays = 366
	projectNames   = 50 // projects in the overview
)

type projectIn struct {
	Project string `json:"project,omitempty" jsonschema:"name of the project; empty: an overview of all projects"`
	Path    string `json:"path,omitempty" jsonschema:"folder or git repository of the project; default: the folder with the project's name"`
	Days    int    `json:"days,omitempty" jsonschema:"number of past days whose work is reported, default 7"`
}

// projectCounts counts the tasks of a project.
type projectCounts struct {
	Project    string `json:"project"` // "" for tasks without a project
	Open       int    `json:"open"`
	Done       int    `json:"done"`
	Overdue    int    `json:"overdue"`
	Due        int    `json:"due_in_the_next_days"`
	DoneLately int    `json:"done_in_the_last_days"`
}

// projectFile is a file of a project.
type projectFile struct {
	Path     string    `json:"path"`
	Modified time.Time `json:"modified"`
}

// projectFolder is the state of a project's folder.
type projectFolder struct {
	Path    string        `json:"path"`
	Files   int           `json:"files"`
	Changed int           `json:"changed_in_the_last_days"`
	Recent  []projectFile `json:"recent"` // latest changes first
	Left    string        `json:"not_read,omitempty"`
}

// projectOut is the Data of project_status.
type projectOut struct {
	projectCounts
	Days         int             `json:"days"`
	Late         []Task          `json:"overdue_tasks"`
	Next         []Task          `json:"next_tasks"`
	Finished     []Task          `json:"finished_tasks"` // in the last days, latest first
	Folder       *projectFolder  `json:"folder,omitempty"`
	Repository   *gitrepo.Status `json:"repository,omitempty"`
	Unread       string          `json:"repository_not_read,omitempty"`
	Projects     []projectCounts `json:"projects,omitempty"` // the overview
	MoreProjects int             `json:"more_projects,omitempty"`
}

func (d Deps) projectStatus() tools.Tool {
	return tools.New(tools.Def[projectIn]{
		Spec: tools.Spec{
			Name: "project_status", Category: "tasks", Effects: tools.Read, Timeout: projectTime,
			Description: "Report how a project stands: open, overdue and finished tasks, recently changed files, and the git branch, uncommitted changes and commits.",
			Keywords:    "project progress standing status milestone overdue repository git commits branch work report how far",
		},
		Paths: func(in projectIn) []string {
			if in.Path == "" {
				return nil
			}
			return []string{in.Path}
		},
		Summary: func(in projectIn) string {
			if in.Project == "" && in.Path == "" {
				return "Report the status of all projects"
			}
			return "Report the status of the project " + cmp.Or(in.Project, in.Path)
		},
		Run: d.reportProject,
	})
}

func (d Deps) reportProject(ctx context.Context, c tools.Call, in projectIn) (tools.Result, error) {
	if in.Days < 0 || in.Days > projectMaxDays {
		return tools.Result{}, tools.Errorf(tools.InvalidArguments, "days must be 1 to %d", projectMaxDays)
	}
	days := cmp.Or(in.Days, projectDefault)
	list, err := List(ctx, d.Store, true)
	if err != nil {
		return tools.Result{}, err
	}
	hideCredentials(list, c)
	name := strings.TrimSpace(in.Project)
	if name == "" && in.Path == "" {
		out := projectOut{Days: days, Projects: countProjects(list, c.Now, days)}
		out.MoreProjects = max(0, len(out.Projects)-projectNames)
		out.Projects = out.Projects[:min(len(out.Projects), projectNames)]
		return tools.Result{Text: out.describeOverview(), Data: out, Source: tasksProvenance(list...)}, nil
	}
	mine := slices.DeleteFunc(slices.Clone(list), func(t Task) bool { return name == "" || !textnorm.EqualFolded(t.Project, name) })
	out := newProjectReport(name, mine, c.Now, days)
	source := tasksProvenance(mine...)
	folder, err := d.projectFolder(ctx, name, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	if folder != "" {
		source = provenance.Outside // names of files, and texts of commits
		if err := d.readProjectFolder(ctx, &out, folder, c.Now.AddDate(0, 0, -days)); err != nil {
			return tools.Result{}, err
		}
	}
	if len(mine) == 0 && folder == "" {
		return tools.Result{}, unknownProjectError(name, list)
	}
	return tools.Result{Text: out.describeProject(c.Now), Data: out, Source: source}, nil
}

// hideCredentials removes the credentials that the caller must not see from the texts of tasks.
func hideCredentials(list []Task, c tools.Call) {
	viewer := c.CredentialViewer()
	for i := range list {
		t := &list[i]
		t.Notes, _ = viewer.Show(t.Title, t.Notes)
		t.Title, _ = viewer.Show("", t.Title)
	}
}

func unknownProjectError(name string, list []Task) error {
	var names []string
	sources := []provenance.Source{provenance.Tool}
	for _, t := range list {
		if t.Project != "" && !slices.Contains(names, t.Project) && len(names) < projectListed {
			names, sources = append(names, t.Project), append(sources, t.Provenance)
		}
	}
	known := "no task belongs to a project yet"
	if len(names) > 0 {
		known = "the projects of tasks are: " + strings.Join(names, ", ")
	}
	return tools.Quoting(tools.Errorf(tools.NotFound, "no task and no folder belongs to a project %q; %s", tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(known)), sources...)
}

// projectFolder returns the folder of a project; "" if there is none.
func (d Deps) projectFolder(ctx context.Context, name, path string) (string, error) {
	if path == "" {
		if d.Folders == nil || strings.ContainsAny(name, `/\`) {
			return "", nil
		}
		abs, _, err := d.Folders.FindFolder(ctx, name)
		return abs, err
	}
	if d.Folders == nil {
		return "", tools.Errorf(tools.Unsupported, "no folder may be read; allow one with: hob config set files.allowed")
	}
	abs, folder, err := d.Folders.Locate(path)
	switch {
	case err != nil:
		return "", err
	case !folder:
		return "", tools.Errorf(tools.InvalidArguments, "%s is not an existing folder", tools.Clean(textnorm.Ellipsize(path, 200)))
	}
	return abs, nil
}

// readProjectFolder adds the state of a folder and of its repository.
func (d Deps) readProjectFolder(ctx context.Context, out *projectOut, folder string, since time.Time) error {
	f := &projectFolder{Path: d.Folders.Show(folder), Recent: []projectFile{}}
	left, err := d.Folders.WalkDocuments(ctx, folder, func(x knowledge.File) error {
		f.Files++
		if !x.Modified.Before(since) {
			f.Changed++
			f.Recent = append(f.Recent, projectFile{d.Folders.Show(x.Path), x.Modified})
		}
		return nil
	})
	if err != nil {
		return err
	}
	sorting.StableByFunc(f.Recent, func(a, b projectFile) int { return b.Modified.Compare(a.Modified) })
	f.Recent, f.Left = f.Recent[:min(len(f.Recent), projectListed)], left
	out.Folder = f
	if d.Repository == nil {
		return nil
	}
	r, err := d.Repository(ctx, folder, since)
	switch {
	case errors.Is(err, gitrepo.ErrNoRepository):
	case errors.Is(err, gitrepo.ErrNotRead) && ctx.Err() == nil:
		out.Unread = err.Error()
	case err != nil:
		return err
	default:
		out.Repository = &r
	}
	return nil
}

// countProjects counts the tasks of each project, projects with overdue tasks first.
func countProjects(list []Task, now time.Time, days int) []projectCounts {
	out := []projectCounts{}
	for _, t := range list {
		i := slices.IndexFunc(out, func(p projectCounts) bool { return textnorm.EqualFolded(p.Project, t.Project) })
		if i < 0 {
			i = len(out)
			out = append(out, projectCounts{Project: t.Project})
		}
		out[i].countTask(t, now, days)
	}
	sorting.StableByFunc(out, func(a, b projectCounts) int {
		return cmp.Or(cmp.Compare(b.Overdue, a.Overdue), cmp.Compare(b.Open, a.Open), strings.Compare(a.Project, b.Project))
	})
	return out
}

func (p *projectCounts) countTask(t Task, now time.Time, days int) {
	at, due := t.dueAt(now.Location())
	switch {
	case t.Status == statusDone:
		p.Done++
		if t.DoneAt.After(now.AddDate(0, 0, -days)) {
			p.DoneLately++
		}
		return
	case t.isOverdue(now):
		p.Overdue++
	case due && at.Before(now.AddDate(0, 0, days)):
		p.Due++
	}
	p.Open++
}

// newProjectReport counts and sorts the tasks of one project.
func newProjectReport(name string, list []Task, now time.Time, days int) projectOut {
	out := projectOut{Days: days, Late: []Task{}, Next: []Task{}, Finished: []Task{}}
	out.Project = name
	for _, t := range list {
		out.countTask(t, now, days)
		switch {
		case t.isOverdue(now):
			out.Late = append(out.Late, t)
		case t.Status == statusOpen:
			out.Next = append(out.Next, t)
		case t.DoneAt.After(now.AddDate(0, 0, -days)):
			out.Finished = append(out.Finished, t)
		}
	}
	sorting.StableByFunc(out.Late, compareUrgency(now.Location()))
	sorting.StableByFunc(out.Next, compareUrgency(now.Location()))
	sorting.StableByFunc(out.Finished, func(a, b Task) int { return b.DoneAt.Compare(a.DoneAt) })
	return out
}

func (p projectCounts) describeCounts(days int) string {
	s := fmt.Sprintf("%d open (%d overdue, %d due in the next %s), %d done", p.Open, p.Overdue, p.Due, textnorm.CountNoun(days, "day", "days"), p.Done)
	if p.DoneLately > 0 && p.DoneLately < p.Done {
		s += fmt.Sprintf(" (%d in the last %s)", p.DoneLately, textnorm.CountNoun(days, "day", "days"))
	}
	return s
}

func (o projectOut) describeOverview() string {
	if len(o.Projects) == 0 {
		return "There are no tasks, so there is no project to report on."
	}
	var b strings.Builder
	b.WriteString("Projects:")
	for _, p := range o.Projects {
		fmt.Fprintf(&b, "\n- %s: %s", cmp.Or(textnorm.Ellipsize(p.Project, 60), "tasks without a project"), p.describeCounts(o.Days))
	}
	if o.MoreProjects > 0 {
		fmt.Fprintf(&b, "\n(%d more projects)", o.MoreProjects)
	}
	return b.String()
}

func (o projectOut) describeProject(now time.Time) string {
	var b strings.Builder
	title := o.Project
	if title == "" && o.Folder != nil {
		title = o.Folder.Path
	}
	fmt.Fprintf(&b, "Project %s\nTasks: ", textnorm.Ellipsize(title, 100))
	if o.Open+o.Done == 0 {
		b.WriteString("none")
	} else {
		b.WriteString(o.describeCounts(o.Days))
	}
	for _, part := range []struct {
		title string
		list  []Task
	}{{"Overdue", o.Late}, {"Next", o.Next}, {"Finished lately", o.Finished}} {
		for i, t := range part.list {
			switch {
			case i == 0:
				fmt.Fprintf(&b, "\n%s:", part.title)
			case i == projectListed:
				fmt.Fprintf(&b, "\n(%d more)", len(part.list)-projectListed)
			}
			if i >= projectListed {
				break
			}
			t.Project = "" // already in the title
			fmt.Fprintf(&b, "\n- %s", t.taskLine(now))
		}
	}
	o.describeFolder(&b, now)
	return b.String()
}

func (o projectOut) describeFolder(b *strings.Builder, now time.Time) {
	if f := o.Folder; f != nil {
		fmt.Fprintf(b, "\nFolder %s: %s, %d changed in the last %s", f.Path, textnorm.CountNoun(f.Files, "file", "files"), f.Changed, textnorm.CountNoun(o.Days, "day", "days"))
		for _, x := range f.Recent {
			fmt.Fprintf(b, "\n- %s (%s)", x.Path, dateparse.Format(x.Modified.In(now.Location()), now))
		}
		if f.Left != "" {
			fmt.Fprintf(b, "\nNot read: %s", f.Left)
		}
	}
	if o.Unread != "" {
		fmt.Fprintf(b, "\nGit: %s", o.Unread)
	}
	r := o.Repository
	if r == nil {
		return
	}
	fmt.Fprintf(b, "\nGit: branch %s, %d changed and %d new files not committed", cmp.Or(r.Branch, "none (detached)"), r.Changed, r.New)
	if r.Upstream != "" {
		fmt.Fprintf(b, "; %d ahead of %s and %d behind", r.Ahead, r.Upstream, r.Behind)
	}
	if len(r.Commits) == 0 && r.Last != nil {
		fmt.Fprintf(b, "\nNo commit in the last %s; the latest is from %s: %s", textnorm.CountNoun(o.Days, "day", "days"), dateparse.FormatDay(r.Last.At.In(now.Location()), now), textnorm.Ellipsize(r.Last.Subject, 120))
	}
	for i, x := range r.Commits {
		if i == 0 {
			fmt.Fprintf(b, "\n%s in the last %s:", textnorm.CountNoun(len(r.Commits), "commit", "commits"), textnorm.CountNoun(o.Days, "day", "days"))
		}
		if i == projectListed {
			break
		}
		fmt.Fprintf(b, "\n- %s %s, %s: %s", x.ID, dateparse.FormatDay(x.At.In(now.Location()), now), x.Author, textnorm.Ellipsize(x.Subject, 120))
	}
}
