package all

import (
	"strings"
	"testing"

	"hob/platform/provenance"
	"hob/tools"
	"hob/tools/toolstest"
)

// TestRefusals checks that a refused call says why and what to do, and changes nothing.
func TestRefusals(t *testing.T) {
	tasks := []toolstest.Step{newStep("create_task", `{"title":"call mum"}`), newStep("create_task", `{"title":"call the bank"}`)}
	tests := []struct {
		name   string
		before []toolstest.Step
		step   toolstest.Step
		code   tools.Code
		want   string
	}{
		{"no such task", tasks, newStep("complete_task", `{"task":"call mom"}`), tools.NotFound, `the closest: "call mum"`},
		{"two tasks", tasks, newStep("delete_task", `{"task":"call"}`), tools.InvalidArguments, "2 open tasks match"},
		{"no tasks", nil, newStep("complete_task", `{"task":"x"}`), tools.NotFound, "there is no open task"},
		{"task without a title", nil, newStep("create_task", `{"title":"  "}`), tools.InvalidArguments, "no title"},
		{"unknown priority", nil, newStep("create_task", `{"title":"x","priority":"soonish"}`), tools.InvalidArguments, "low, medium, high or critical"},
		{"unknown due time", nil, newStep("create_task", `{"title":"x","due":"when pigs fly"}`), tools.InvalidArguments, "not understood"},
		{"due time with two readings", nil, newStep("create_task", `{"title":"x","due":"03/04/2095"}`), tools.InvalidArguments, "say which"},
		{"unknown status", nil, newStep("list_tasks", `{"status":"late"}`), tools.InvalidArguments, "open, done or all"},
		{"unknown new status", tasks, newStep("update_task", `{"task":"mum","status":"half"}`), tools.InvalidArguments, "open or done"},
		{"reminder in the past", nil, newStep("create_reminder", `{"text":"x","at":"2094-03-10T14:00:00+01:00"}`), tools.InvalidArguments, "later time"},
		{"reminder without a time", nil, newStep("create_reminder", `{"text":"x"}`), tools.InvalidArguments, "exactly one"},
		{"reminder with two times", nil, newStep("create_reminder", `{"text":"x","at":"tomorrow","every":"day"}`), tools.InvalidArguments, "exactly one"},
		{"reminder without a text", nil, newStep("create_reminder", `{"text":"  ","at":"tomorrow"}`), tools.InvalidArguments, "action is empty"},
		{"bad cron text", nil, newStep("create_reminder", `{"text":"x","every":"99 * * * *"}`), tools.InvalidArguments, "99"},
		{"no such reminder", nil, newStep("cancel_reminder", `{"reminder":"x"}`), tools.NotFound, "there is no reminder"},
		{"unknown missed policy", nil, newStep("create_schedule", `{"every":"day","action":"x","missed":"cry"}`), tools.InvalidArguments, "run_once"},
		{"schedule with an empty action", nil, newStep("create_schedule", `{"every":"day","action":" "}`), tools.InvalidArguments, "action is empty"},
		{"unknown kind", nil, newStep("create_watcher", `{"kind":"crystal ball","config":{}}`), tools.InvalidArguments, "file"},
		{"feed without a name", nil, newStep("track_feed", `{"name":" ","source":"http://boiler.example/feed.xml"}`), tools.InvalidArguments, "give the feed a name"},
		{"feed of an unknown type", nil, newStep("track_feed", `{"name":"x","source":"http://boiler.example","source_type":"fax"}`), tools.InvalidArguments, "feed, page or search"},
		{"feed in the user's network", nil, newStep("track_feed", `{"name":"x","source":"http://192.168.1.1/feed"}`), tools.InvalidArguments, "private network"},
		{"feed that is tracked already", []toolstest.Step{newStep("track_feed", `{"name":"Stoves","source":"http://boiler.example/feed.xml"}`)}, newStep("track_feed", `{"name":"stoves","source":"http://boiler.example/b"}`), tools.Conflict, "already tracked"},
		{"topic without words", nil, newStep("track_topic", `{"topic":" "}`), tools.InvalidArguments, "topic in words"},
		{"topic with an endless interval", nil, newStep("track_topic", `{"topic":"x","interval_hours":9000}`), tools.InvalidArguments, "1 to 744"},
		{"unknown feed", nil, newStep("untrack_feed", `{"feed":"nothing"}`), tools.NotFound, "tracked feed"},
		{"timed kind as a watcher", nil, newStep("create_watcher", `{"kind":"cron","config":{"cron":"* * * * *"}}`), tools.InvalidArguments, "create_schedule"},
		{"intent as a watcher", nil, newStep("create_watcher", `{"kind":"intent","config":{}}`), tools.InvalidArguments, "create_intent"},
		{"intent without a condition", nil, newStep("create_intent", `{"remind":"the hose"}`), tools.InvalidArguments, "name a person, words or a watcher"},
		{"intent with two actions", nil, newStep("create_intent", `{"from":"me","words":["a"],"remind":"b","do":"c"}`), tools.InvalidArguments, "only one of"},
		{"answer without a person", nil, newStep("create_intent", `{"words":["a"],"tell":"b"}`), tools.InvalidArguments, "name the person"},
		{"two conditions", nil, newStep("create_intent", `{"from":"me","watcher":"nothing","remind":"b"}`), tools.NotFound, "no watcher"},
		{"unknown key", nil, newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR","folder":1}}`), tools.InvalidArguments, "folder"},
		{"folder that may not be watched", nil, newStep("create_watcher", `{"kind":"file","config":{"path":"/etc"}}`), tools.InvalidArguments, "allowed"},
		{"empty fact", nil, newStep("remember", `{"text":" "}`), tools.InvalidArguments, "empty"},
		{"a question as a fact", nil, newStep("remember", `{"text":"what is the time?"}`), tools.InvalidArguments, "question"},
		{"forget without a query", nil, newStep("forget", `{}`), tools.InvalidArguments, "exactly one"},
		{"forget an unknown id", nil, newStep("forget", `{"id":"f123"}`), tools.NotFound, "no such fact"},
		{
			"forget two facts",
			[]toolstest.Step{newStep("remember", `{"text":"the cat is grey"}`), newStep("remember", `{"text":"the cat is old"}`)},
			newStep("forget", `{"query":"cat"}`), tools.InvalidArguments, "2 facts match",
		},
		{"forget a note", []toolstest.Step{newStep("create_note", `{"text":"the cat"}`)}, newStep("forget", `{"query":"cat"}`), tools.NotFound, "delete_note"},
		{
			"forget something near",
			[]toolstest.Step{newStep("remember", `{"text":"the spare key is under the flowerpot"}`)},
			newStep("forget", `{"query":"spare key in the drawer"}`), tools.NotFound, "the closest",
		},
		{"empty note", nil, newStep("create_note", `{"text":""}`), tools.InvalidArguments, "empty"},
		{"no such note", []toolstest.Step{newStep("create_note", `{"text":"groceries"}`)}, newStep("append_note", `{"note":"grocriez","text":"x"}`), tools.NotFound, "groceries"},
		{"too many hops", nil, newStep("smart_recall", `{"query":"x","max_hops":9}`), tools.InvalidArguments, "must be 1 to 4"},
		{"an empty question", nil, newStep("smart_recall", `{"query":" "}`), tools.InvalidArguments, "empty"},
		{"negative limit", nil, newStep("recall", `{"query":"x","limit":-1}`), tools.InvalidArguments, "positive"},
		{"no amount", nil, newStep("log_expense", `{"amount":0}`), tools.InvalidArguments, "more than 0"},
		{"a refund", nil, newStep("log_expense", `{"amount":-20}`), tools.InvalidArguments, "is no expense and is not recorded"},
		{"a target without a goal", nil, newStep("set_habit_target", `{"habit":"gym","remind":"20:00"}`), tools.InvalidArguments, "goal is missing"},
		{"half a cent", nil, newStep("log_expense", `{"amount":0.005}`), tools.InvalidArguments, "decimals"},
		{"unknown currency", nil, newStep("log_expense", `{"amount":1,"currency":"beads"}`), tools.InvalidArguments, "currency"},
		{"spent tomorrow", nil, newStep("log_expense", `{"amount":1,"date":"tomorrow"}`), tools.InvalidArguments, "in the future"},
		{"expense dated last week", nil, newStep("log_expense", `{"amount":1,"date":"last week"}`), tools.InvalidArguments, "more than one day"},
		{"unknown period", nil, newStep("spending_summary", `{"period":"the good old days"}`), tools.InvalidArguments, "not understood"},
		{"habit of the future", nil, newStep("log_habit", `{"habit":"gym","date":"2094-03-11"}`), tools.InvalidArguments, "in the future"},
		{"habit without a name", nil, newStep("log_habit", `{"habit":" "}`), tools.InvalidArguments, "habit is empty"},
		{"another habit", []toolstest.Step{newStep("log_habit", `{"habit":"running"}`)}, newStep("habit_streak", `{"habit":"run"}`), tools.NotFound, `"running"`},
		{"empty widget", nil, newStep("canvas_push", `{"title":"x"}`), tools.InvalidArguments, "content is empty"},
		{"unknown kind of widget", nil, newStep("canvas_push", `{"content":"x","content_type":"javascript"}`), tools.InvalidArguments, "must be markdown"},
		{"chart without numbers", nil, newStep("canvas_push", `{"content":"city,km\nOslo,far","content_type":"bar"}`), tools.InvalidArguments, `row 1: "far" is not a number`},
		{"chart with one column", nil, newStep("canvas_push", `{"content":"city\nOslo","content_type":"line"}`), tools.InvalidArguments, "at least one column with numbers"},
		{"table without rows", nil, newStep("canvas_push", `{"content":"city,km","content_type":"table"}`), tools.InvalidArguments, "has no rows"},
		{"row that is too long", nil, newStep("canvas_push", `{"content":"a,b\n1,2,3","content_type":"table"}`), tools.InvalidArguments, "line 2 has 3 values"},
		{"widget that is too long", nil, newStep("canvas_push", `{"content":"`+strings.Repeat("x", 100_001)+`"}`), tools.InvalidArguments, "more than 100000"},
		{"other kind appended", []toolstest.Step{newStep("canvas_push", `{"content":"x"}`)}, newStep("canvas_push", `{"content":"a\n1","content_type":"table","append":true}`), tools.InvalidArguments, "same type"},
		{"no such widget", []toolstest.Step{newStep("canvas_push", `{"title":"Board","content":"x"}`)}, newStep("canvas_reset", `{"title":"Bored"}`), tools.NotFound, `the widgets are "Board"`},
		{"no table on the canvas", []toolstest.Step{newStep("canvas_push", `{"content":"x"}`)}, newStep("canvas_eval", `{}`), tools.NotFound, "no table and no chart"},
		{"no such column", []toolstest.Step{newStep("canvas_push", `{"content":"a,b\n1,2","content_type":"table"}`)}, newStep("canvas_eval", `{"group":"c"}`), tools.InvalidArguments, `the columns are "a", "b"`},
		{"no such day", nil, newStep("daily_briefing", `{"date":"someday"}`), tools.InvalidArguments, "not understood"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e := openEnv(t)
			b := toolstest.NewBench(t, e)
			for _, s := range tc.before {
				if _, err := b.Call(s); err != nil {
					t.Fatal(err)
				}
			}
			before := toolstest.Dump(t, e.Store)
			r, err := b.Call(tc.step)
			if err == nil || tools.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q, %s: %v; want %s with %q", r.Text, tools.CodeOf(err), err, tc.code, tc.want)
			}
			expectEqual(t, before, toolstest.Dump(t, e.Store))
		})
	}
}

// TestUndo_KeepsLaterChanges checks that an undo destroys no later change.
func TestUndo_KeepsLaterChanges(t *testing.T) {
	note, task := newStep("create_note", `{"text":"milk","title":"Groceries"}`), newStep("create_task", `{"title":"call mum"}`)
	fact := newStep("remember", `{"text":"my phone number is 1"}`)
	tests := []struct {
		name          string
		before        []toolstest.Step
		action, since toolstest.Step
	}{
		{"a note that grew", nil, note, newStep("append_note", `{"note":"Groceries","text":"eggs"}`)},
		{"an addition above a later one", []toolstest.Step{note}, newStep("append_note", `{"note":"Groceries","text":"eggs"}`), newStep("append_note", `{"note":"Groceries","text":"flour"}`)},
		{"a note that was deleted", nil, note, newStep("delete_note", `{"note":"Groceries"}`)},
		{"a task that was done", nil, task, newStep("complete_task", `{"task":"mum"}`)},
		{"a task that was changed", []toolstest.Step{task}, newStep("update_task", `{"task":"mum","priority":"high"}`), newStep("update_task", `{"task":"mum","priority":"low"}`)},
		{"a task that was deleted", []toolstest.Step{task}, newStep("complete_task", `{"task":"mum"}`), newStep("delete_task", `{"task":"mum"}`)},
		{"a fact that was corrected", nil, fact, newStep("remember", `{"text":"my phone number is 2"}`)},
		{"a fact that was forgotten", nil, fact, newStep("forget", `{"query":"phone number"}`)},
		{"a reminder that was cancelled", nil, newStep("create_reminder", `{"text":"stretch","at":"tomorrow"}`), newStep("cancel_reminder", `{"reminder":"stretch"}`)},
		{
			"a resumed schedule",
			[]toolstest.Step{newStep("create_schedule", `{"every":"day at 9","action":"brief me"}`)},
			newStep("pause_schedule", `{"schedule":"brief"}`), newStep("pause_schedule", `{"schedule":"brief","resume":true}`),
		},
		{
			"a watcher that was cancelled",
			[]toolstest.Step{newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR"}}`)},
			newStep("pause_watcher", `{"watcher":"Documents"}`), newStep("cancel_watcher", `{"watcher":"Documents"}`),
		},
		{
			"a watcher that was changed again",
			[]toolstest.Step{newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR"}}`)},
			newStep("update_watcher", `{"watcher":"Documents","per_day":3}`), newStep("update_watcher", `{"watcher":"Documents","per_day":4}`),
		},
		{"a file that was changed", nil, newStep("write_file", `{"path":"x.txt","content":"1"}`), newStep("write_file", `{"path":"x.txt","content":"2"}`)},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e := openEnv(t)
			b := toolstest.NewBench(t, e)
			for _, s := range tc.before {
				if _, err := b.Call(s); err != nil {
					t.Fatal(err)
				}
			}
			r, err := b.Call(tc.action)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Call(tc.since); err != nil {
				t.Fatal(err)
			}
			before := toolstest.Dump(t, e.Store)
			if said, err := b.Undo(tc.action.Tool, r); tools.CodeOf(err) != tools.Conflict && tools.CodeOf(err) != tools.NotFound {
				t.Errorf("undo says %q, %v; want a conflict or that nothing is left", said, err)
			}
			expectEqual(t, before, toolstest.Dump(t, e.Store))
		})
	}
}

// TestTaint_OfStoredRowsIsKept checks that rows stored with untrusted text in the context are untrusted whenever
// they are read, and never replace a statement of the owner.
func TestTaint_OfStoredRowsIsKept(t *testing.T) {
	b := toolstest.NewBench(t, openEnv(t))
	if _, err := b.Call(newStep("remember", `{"text":"my phone number is 1"}`)); err != nil {
		t.Fatal(err)
	}
	b.Provenance = provenance.Outside
	for _, s := range []toolstest.Step{
		newStep("remember", `{"text":"my phone number is 666"}`), newStep("create_note", `{"text":"from a page"}`), newStep("create_task", `{"title":"pay the invoice","due":"today"}`),
		newStep("create_reminder", `{"text":"reply","at":"at 18:00"}`), newStep("create_schedule", `{"every":"day at 9","action":"look"}`),
		newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR"}}`), newStep("log_expense", `{"amount":3,"category":"ads"}`), newStep("log_habit", `{"habit":"clicking"}`),
	} {
		if _, err := b.Call(s); err != nil {
			t.Fatalf("%s: Call = %v, want nil", s.Tool, err)
		}
	}
	b.Provenance = provenance.Owner
	for _, s := range []toolstest.Step{
		newStep("recall", `{"query":"phone number"}`), newStep("search_knowledge", `{"query":"invoice"}`), newStep("list_notes", `{}`), newStep("list_tasks", `{}`),
		newStep("list_reminders", `{}`), newStep("list_schedules", `{}`), newStep("list_watchers", `{}`), newStep("spending_summary", `{}`),
		newStep("habit_streak", `{}`), newStep("daily_briefing", `{}`),
	} {
		r, err := b.Call(s)
		if err != nil || r.Source != provenance.Outside {
			t.Errorf("%s: source %q, %v: %s", s.Tool, r.Source, err, r.Text)
		}
	}
	if r, err := b.Call(newStep("recall", `{"query":"phone number"}`)); err != nil || !strings.Contains(r.Text, "my phone number is 1 (you told me today)") {
		t.Errorf("recall of the user's own fact = %q, %v", r.Text, err)
	}
}
