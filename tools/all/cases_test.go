package all

import (
	"hob/platform/text/credential"
	"hob/tools/toolstest"
)

func newStep(tool, args string) toolstest.Step { return toolstest.Step{Tool: tool, Args: args} }

func fileCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("read_file", `{"path":"a.txt"}`), Want: "first line", Outside: true},
		{Step: newStep("list_directory", `{"path":"~/Documents"}`), Want: "- a.txt (11 bytes", Outside: true},
		{Step: newStep("search_files", `{"path":"~/Documents","query":"FIRST"}`), Want: "- a.txt:1: first line", Outside: true},
		{Step: newStep("write_file", `{"path":"new/b.txt","content":"hello"}`), Want: "Created ~/Documents/new/b.txt", Undone: "Deleted"},
		{Step: newStep("write_file", `{"path":"a.txt","content":"other"}`), Want: "Replaced ~/Documents/a.txt", Undone: "Restored"},
		{Step: newStep("write_file", `{"path":"a.txt","content":"more","append":true}`), Want: "Added 4 bytes", Undone: "Restored"},
		{Step: newStep("move_file", `{"source":"a.txt","destination":"sub/c.txt"}`), Want: "Moved", Undone: "back to"},
		{Step: newStep("trash_file", `{"path":"a.txt"}`), Want: "to the trash", Undone: "Restored"},
	}
}

func accountCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("read_calendar", `{"days_ahead":5}`), Want: "Sat 13 Mar:\n- 14:30-15:30 Dentist", Outside: true},
		{Step: newStep("create_calendar_event", `{"title":"Lunch with Ada","start":"tomorrow at 12"}`), Want: `Added "Lunch with Ada" to the calendar Home: tomorrow at 12:00 to 13:00.`, Undone: "Removed the event"},
		{Step: newStep("create_calendar_event", `{"title":"Trip","start":"tomorrow","end":"Friday","repeat":"yearly"}`), Want: `Added "Trip" to the calendar Home: tomorrow, all day.`, Undone: "Removed the event"},
		{Step: newStep("update_calendar_event", `{"event":"dentist","start":"16:00"}`), Want: `Moved "Dentist" from `, Outside: true, Undone: "Restored the event"},
		{Step: newStep("answer_invitation", `{"event":"review","answer":"decline"}`), Want: `Declined: "Review", Tue 30 Mar at 14:30. It is unknown whether the server notifies ada@example.org; no email was sent.`, Outside: true, Undone: "Restored the invitation in your calendar"},
		{Step: newStep("delete_calendar_event", `{"event":"dentist"}`), Want: `Removed "Dentist" (`, Outside: true, Undone: "Restored the event"},
		{Step: newStep("find_free_time", `{"days_ahead":1,"attendees":["ada@example.org"]}`), Want: "It is unknown when ada@example.org is busy", Outside: true},
		{Step: newStep("schedule_meeting", `{"title":"Boat council","duration_minutes":60,"preferred_time":"tomorrow","attendees":["ada@example.org"]}`), Want: "The invitation was not drafted: no account can send email as me@example.org.", Outside: true, Undone: "Removed the meeting from the calendar."},
		{Step: newStep("create_reminder", `{"text":"Milk","at":"Friday","in":"home"}`), Want: `Added "Milk" to the list home: Fri 12 Mar.`, Undone: "Removed the item from the list."},
		{Step: newStep("list_reminders", `{}`), Before: []toolstest.Step{newStep("create_reminder", `{"text":"Milk","at":"Friday","in":"home"}`)}, Want: "- Pay rent (tomorrow; high priority; home)\n- Milk (Fri 12 Mar; home)", Outside: true},
		{Step: newStep("list_reminders", `{"query":"rent"}`), Before: []toolstest.Step{newStep("create_reminder", `{"text":"stretch","at":"at 18:00"}`)}, Want: "To do, on the lists of home:\n- Pay rent", Outside: true},
		{Step: newStep("list_reminders", `{"in":"hob"}`), Want: "There are no reminders."},
		{Step: newStep("complete_reminder", `{"reminder":"rent"}`), Want: "Done: Pay rent (", Outside: true, Undone: "is open again"},
		{Step: newStep("create_note", `{"title":"Ideas","text":"More tea","in":"folder"}`), Want: `Wrote the note "Ideas" in folder.`, Undone: "Removed the note."},
		{Step: newStep("list_notes", `{"query":"vaillant"}`), Want: "Notes in folder:\n- Boiler (folder, ", Outside: true},
		{Step: newStep("read_note", `{"note":"boiler"}`), Want: "The boiler is a Vaillant.", Outside: true},
		{Step: newStep("read_note", `{"note":"groceries"}`), Before: []toolstest.Step{newStep("create_note", `{"text":"milk\neggs","title":"Groceries"}`)}, Want: "milk\neggs"},
		{Step: newStep("search_contacts", `{"query":"ada"}`), Want: "- Ada; mail: ada@example.org", Outside: true},
		{Step: newStep("convert_currency", `{"amount":50,"from":"USD","to":"EUR"}`), Want: "50 USD = 40.00 EUR (rates.example, rate of today)."},
		{Step: newStep("get_weather", `{"location":"54.7,25.3"}`), Want: "- today: clear", Outside: true},
		{Step: newStep("read_calendar", `{}`), Want: "There is no event in the calendar for today.", Outside: true},
		{Step: newStep("read_emails", `{}`), Want: "From: Ada <ada@example.org>\nSubject: The invoice", Outside: true},
		{Step: newStep("search_emails", `{"from":"ada"}`), Want: "Pay 99.", Outside: true},
		{Step: newStep("search_emails", `{"query":"zebra"}`), Want: "No mail matches.", Outside: true},
		{Step: newStep("read_email", `{"mail":"invoice"}`), Want: "Pay 99.", Outside: true},
		{Step: newStep("email_triage", `{}`), Want: "person) Ada <ada@example.org>: The invoice", Outside: true},
		{Step: newStep("email_triage", `{"categories":["newsletter"]}`), Want: "No email in the last 72 hours matches.", Outside: true},
		{Step: newStep("email_summarize_thread", `{"subject":"the invoice"}`), Want: "\"The invoice\": 1 email by Ada <ada@example.org>", Outside: true},
		{Step: newStep("edit_draft", `{"draft":"hello","text":"Good morning"}`), Before: []toolstest.Step{newStep("draft_email", `{"to":["ada@example.org"],"text":"Hello"}`)}, Want: "Changed the draft to ada@example.org in the drafts of work: Hello.", Outside: true, Undone: "Restored the former draft."},
		{Step: newStep("save_email_attachment", `{"mail":"party","name":"menu","folder":"~/Documents"}`), Want: "Saved ~/Documents/menu.txt (4 bytes).", Outside: true, Undone: "Deleted ~/Documents/menu.txt."},
		{Step: newStep("answer_email_invitation", `{"mail":"party","answer":"decline"}`), Want: "Declined: \"Party\", Sat 20 Mar at 19:00. bob@example.org was notified by email.", Outside: true},
		{Step: newStep("answer_email_invitation", `{"mail":"party","answer":"accept"}`), Want: "The event is in your calendar home.", Outside: true, Undone: "Removed the event from your calendar."},
		{Step: newStep("create_email_rule", `{"from":"shop.example","action":"trash"}`), Want: "From now on, for arriving emails from shop.example: move to trash.", Undone: "Removed the rule."},
		{Step: newStep("list_email_rules", `{}`), Before: []toolstest.Step{newStep("create_email_rule", `{"subject":"sale"}`)}, Want: "- emails about sale: move to archive ("},
		{Step: newStep("remove_email_rule", `{"rule":"sale"}`), Before: []toolstest.Step{newStep("create_email_rule", `{"subject":"sale"}`)}, Want: "Removed the rule for arriving emails about sale: move to archive.", Undone: "Restored the rule."},
		{Step: newStep("email_unsubscribe", `{}`), Want: "No newsletter is in the inbox.", Outside: true},
		{Step: newStep("draft_email", `{"to":["ada@example.org"],"text":"Hello"}`), Want: "The draft to ada@example.org is saved in the drafts of work: Hello.", Undone: "Removed the draft."},
		{Step: newStep("draft_email", `{"answer":"invoice","text":"Paid"}`), Want: "The draft to ada@example.org is saved in the drafts", Outside: true, Undone: "Removed the draft."},
		{Step: newStep("send_email", `{"to":["ada@example.org"],"text":"Hello","attach":["a.txt"]}`), Want: "Sent to ada@example.org: Hello."},
		{Step: newStep("move_email", `{"mail":"invoice"}`), Want: `Moved the email "The invoice" from Ada <ada@example.org> to archive.`, Outside: true, Undone: "Moved the email back"},
	}
}

func travelCases() []toolstest.Case {
	mug := newStep("packing_list", `{"destination":"Nida","duration_days":2,"add":["Moomin mug"]}`)
	return []toolstest.Case{
		{Step: newStep("get_directions", `{"from":"54.7,25.3","to":"54.9,23.9"}`), Want: "54.7,25.3 to 54.9,23.9 by car: 103.4 km, 1 h 18 min without traffic.", Outside: true},
		{Step: newStep("flight_status", `{"flight_number":"BT342"}`), Want: "BT342 on 2094-03-10: active, departure delayed by 45 min.\n- Departure: (VNO), gate C7", Outside: true},
		{Step: newStep("packing_list", `{"destination":"Nida","duration_days":9,"weather":"rain"}`), Before: []toolstest.Step{mug}, Want: "- Moomin mug (from your list for Nida, March 2094)", Undone: "Removed the packing list"},
		{Step: newStep("world_clock", `{"places":["Tokyo"]}`), Want: "in Tokyo (Wed 10 Mar, JST"},
		{Step: newStep("sun_times", `{"place":"54.7,25.3"}`), Want: "54.7,25.3 on Wed 10 Mar 2094: sunrise "},
	}
}

func sendCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("send_message", `{"channel":"webhook","text":"hello"}`), Want: "The message to webhook will be sent at 14:30:10; to cancel it: hob undo call", Undone: "Called back"},
		{Step: newStep("send_message", `{"channel":"telegram","to":"42","text":"hello"}`), Want: "The message to 42 on telegram will be sent", Undone: "Called back"},
		{Step: newStep("send_message", `{"channel":"telegram","to":"7","text":"hello"}`), Want: "Sending to 7 on telegram."},
		{Step: newStep("send_file", `{"path":"a.txt"}`), Want: "Sending to 7 on telegram."},
		{Step: newStep("send_file", `{"path":"a.txt","to":"webhook:x","text":"here"}`), Want: "The message to x on webhook will be sent at", Undone: "Called back"},
	}
}

func messageCases() []toolstest.Case {
	dora := newStep("suggest_followups", `{"action":"add","person":"Dora","reason":"the harbour pass","due_date":"Friday"}`)
	return []toolstest.Case{
		{Step: newStep("read_messages", `{}`), Want: "home (hob):\n- you, today at 08:30: the plumber needs the cellar key at 10\n- hob, today at 08:30: Noted.\ntelegram:42 (telegram):\n- Ada, today at 09:30: Can you bring the ladder on Friday?", Outside: true},
		{Step: newStep("read_messages", `{"contact":"ada"}`), Want: "Can you bring the ladder", Outside: true},
		{Step: newStep("read_messages", `{"session":"home","limit":1}`), Want: "- hob, today at 08:30: Noted.\n(1 older message)"},
		{Step: newStep("message_summary", `{"session":"home"}`), Want: "2 messages in 1 conversation in the last 24 hours.\n\nhome (hob): 2 messages, 1 from you, 1 from Hob, last today at 08:30\nAbout: plumber, needs, cellar\n- you, today at 08:30: the plumber needs the cellar key at 10"},
		{Step: newStep("message_summary", `{"contact":"Ada"}`), Want: "Not answered yet: Can you bring the ladder on Friday?", Outside: true},
		{Step: newStep("message_summary", `{"hours":1}`), Want: "No messages in the last 1 hour."},
		{Step: newStep("relationship_summary", `{"contact":"Ada"}`), Want: "Contact with Ada in the last year: 1 mail received, 0 sent; 1 message received, 0 sent", Outside: true},
		{Step: newStep("set_auto_reply", `{"enabled":true,"message":"Away.","until":"tomorrow at 9:00"}`), Want: "The automatic replies are on, for people in the address book, from today at 14:30 until tomorrow at 09:00, at most 100 replies.", Undone: "off again"},
		{Step: newStep("set_auto_reply", `{}`), Want: "There are no automatic replies."},
		{Step: newStep("start_facetime", `{"contact":"+15550100"}`), Want: "FaceTime asks you to confirm the call to +15550100."},
		{Step: newStep("suggest_followups", `{}`), Before: []toolstest.Step{dora}, Want: "Get back to:\n- Dora: the harbour pass (due Fri 12 Mar)"},
		{Step: dora, Want: "Added: get back to Dora: the harbour pass (due Fri 12 Mar).", Undone: "Removed the follow-up with"},
		{Step: newStep("suggest_followups", `{"action":"complete","person":"dora"}`), Before: []toolstest.Step{dora}, Want: "Done: Dora", Undone: "is open again"},
	}
}

func shellCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("run_command", `{"command":"cat a.txt | wc -l"}`), Want: "1", Outside: true},
		{Step: newStep("run_command", `{"command":"ls nothing"}`), Want: "exit status 2", Outside: true},
		{Step: newStep("run_command", `{"command":"echo hello"}`), Want: "hello"},
	}
}

func memoryCases() []toolstest.Case {
	link := newStep("link_entities", `{"from":"Ana","relation":"works for","to":"Initech"}`)
	fact := newStep("remember", `{"text":"my sister's birthday is on 3 May"}`)
	note := newStep("create_note", `{"text":"milk\neggs","title":"Groceries"}`)
	return []toolstest.Case{
		{Step: fact, Want: `I will remember "my sister's birthday is on 3 May".`, Undone: `Removed the fact "my sister's birthday is on 3 May".`},
		{
			Step: newStep("remember", `{"text":"My sister's birthday is on 4 May."}`), Before: []toolstest.Step{fact},
			Want: `It replaces "my sister's birthday is on 3 May".`, Undone: `Removed the fact "My sister's birthday is on 4 May".`,
		},
		{Step: fact, Before: []toolstest.Step{fact}, Want: "Already known"},
		{Step: newStep("remember", `{"text":"the concert is in the old mill","kind":"event","until":"2999-05-03"}`), Want: "It expires after", Undone: "Removed the fact"},
		{Step: link, Want: `I noted that "Ana works at Initech".`, Undone: "Removed the link."},
		{Step: newStep("link_entities", `{"from":"Initech","relation":"employs","to":"ana"}`), Before: []toolstest.Step{link}, Want: "Already known"},
		{Step: newStep("recall", `{"query":"who works at Initech?"}`), Before: []toolstest.Step{link}, Want: "I remember: Ana works at Initech (you told me today)."},
		{
			Step: newStep("recall", `{"query":"where does Ana's husband live?"}`), Before: []toolstest.Step{
				newStep("link_entities", `{"from":"Ana","relation":"wife of","to":"Tom"}`), newStep("link_entities", `{"from":"Tom","relation":"lives in","to":"Kaunas"}`),
			},
			Want: "Relations:\n- Ana is married to Tom (you told me today)\n- Tom lives in Kaunas (you told me today)",
		},
		{Step: newStep("search_knowledge", `{"query":"Initech"}`), Before: []toolstest.Step{link}, Want: "I remember: Ana works at Initech (you told me today)."},
		{Step: newStep("smart_recall", `{"query":"where does Ana work?"}`), Before: []toolstest.Step{link}, Want: "Ana works at Initech (you told me today)"},
		{Step: newStep("graph_search", `{"query":"ana"}`), Before: []toolstest.Step{link}, Want: "Known people and things:\n- Ana (person, e"},
		{Step: newStep("graph_search", `{"kind":"place"}`), Before: []toolstest.Step{link}, Want: "There are no known people or things yet."},
		{Step: newStep("graph_related", `{"entity":"Initech"}`), Before: []toolstest.Step{link}, Want: "- Ana works at Initech (you told me today)"},
		{Step: newStep("graph_related", `{"entity":"ana","relation":"sister of"}`), Before: []toolstest.Step{link}, Want: "No relation is known."},
		{Step: newStep("graph_upsert_entity", `{"name":"Ana","names":["ana@example.org","Annie"]}`), Before: []toolstest.Step{link}, Want: "also Annie, ana@example.org.", Undone: "Removed what was recorded."},
		{Step: newStep("graph_upsert_entity", `{"name":"Initech","kind":"organisation"}`), Want: "Recorded: Initech (organisation, e", Undone: "Removed what was recorded."},
		{Step: newStep("merge_entities", `{"first":"Ana","second":"Annie"}`), Before: []toolstest.Step{link, newStep("link_entities", `{"from":"Annie","relation":"lives in","to":"Riga"}`)}, Want: `"Ana" and "Annie" are the same now: `, Undone: "Restored both entries."},
		{Step: newStep("merge_entities", `{"first":"Ana","second":"Annie 100%s"}`), Before: []toolstest.Step{link, newStep("link_entities", `{"from":"Annie 100%s","relation":"lives in","to":"Riga"}`)}, Want: `"Ana" and "Annie 100%s" are the same now: An`, Undone: "Restored both entries."},
		{Step: newStep("split_entity", `{"entity":"Ana","name":"Annie"}`), Before: []toolstest.Step{link, newStep("graph_upsert_entity", `{"name":"Ana","names":["Annie"]}`)}, Want: "These are different now: Ana (person, e", Undone: "Restored both entries."},
		{Step: newStep("recall", `{"query":"when is my sister's birthday?"}`), Before: []toolstest.Step{fact}, Want: "I remember: my sister's birthday is on 3 May (you told me today)."},
		{Step: newStep("recall", `{"query":""}`), Want: "no remembered facts"},
		{Step: newStep("recall", `{"query":"\"* OR ("}`), Before: []toolstest.Step{fact}, Want: "I remember nothing about"},
		{Step: newStep("search_knowledge", `{"query":"groceries"}`), Before: []toolstest.Step{note, fact}, Want: "- note: Groceries: milk eggs (today)"},
		{Step: newStep("search_knowledge", `{"query":"zebra"}`), Want: "I found nothing"},
		{Step: newStep("smart_recall", `{"query":"when is the birthday of my sister?"}`), Before: []toolstest.Step{note, fact}, Want: "- fact: my sister's birthday is on 3 May (today)"},
		{
			Step: newStep("smart_recall", `{"query":"what was my sister's birthday before?"}`), Before: []toolstest.Step{fact, newStep("remember", `{"text":"My sister's birthday is on 4 May."}`)},
			Want: "- fact: My sister's birthday is on 4 May. (today)\nNo longer so:\n- fact: my sister's birthday is on 3 May (today, valid until today)",
		},
		{Step: newStep("smart_recall", `{"query":"zebra"}`), Before: []toolstest.Step{fact}, Want: "I found nothing about"},
		{Step: newStep("recall", `{"query":"what was my sister's birthday before?"}`), Before: []toolstest.Step{fact, newStep("remember", `{"text":"My sister's birthday is on 4 May."}`)}, Want: "No longer so:\n- my sister's birthday is on 3 May (you told me today, until today)"},
		{Step: newStep("search_conversations", `{"query":"plumber"}`), Want: "- message 7, owner in home, yesterday: the [plumber] comes"},
		{Step: newStep("search_conversations", `{"query":"plumber","since":"`+now.Format("2006-01-02")+`"}`), Want: "No message matches"},
		{Step: newStep("search_conversations", `{"query":"plumber","until":"`+now.Format("2006-01-02")+`"}`), Want: "message 7"},
		{Step: newStep("search_conversations", `{"query":"boiler"}`), Want: "message 9, tool in home", Outside: true},
		{Step: newStep("search_conversations", `{"message":9}`), Want: "Message 9, tool in home, today:\na page about a boiler, whole", Outside: true},
		{Step: newStep("forget", `{"query":"sister birthday"}`), Before: []toolstest.Step{fact}, Want: "Permanently deleted."},
		{Step: note, Want: `Wrote the note "Groceries".`, Undone: "Deleted"},
		{Step: newStep("create_note", `{"text":"# Ideas\nmore"}`), Want: `"Ideas"`, Undone: "Deleted"},
		{Step: newStep("list_notes", `{}`), Before: []toolstest.Step{note}, Want: "Note \"Groceries\" (today):\nmilk\neggs\n\nNotes in folder:\n- Boiler (folder, ", Outside: true},
		{Step: newStep("list_notes", `{"query":"egg"}`), Before: []toolstest.Step{note, newStep("create_note", `{"text":"other"}`)}, Want: "Groceries"},
		{Step: newStep("append_note", `{"note":"groceries","text":"bread"}`), Before: []toolstest.Step{note}, Want: `Added the text to the note "Groceries".`, Undone: "Removed the last addition"},
		{Step: newStep("delete_note", `{"note":"grocer"}`), Before: []toolstest.Step{note}, Want: `Deleted the note "Groceries".`, Undone: "Restored"},
	}
}

func taskCases() []toolstest.Case {
	plumber := newStep("create_task", `{"title":"call the plumber","due":"tomorrow at 9"}`)
	rent := newStep("create_task", `{"title":"pay the rent","due":"2094-03-08","priority":"high","project":"Home"}`)
	return []toolstest.Case{
		{Step: plumber, Want: `Added task "call the plumber", due tomorrow at 09:00.`, Undone: "Deleted the task"},
		{Step: rent, Want: `Added task "pay the rent", overdue since Mon 8 Mar, high priority, project Home.`, Undone: "Deleted the task"},
		{
			Step: newStep("list_tasks", `{}`), Before: []toolstest.Step{plumber, rent, newStep("create_task", `{"title":"some day"}`)},
			Want: "3 open tasks:\n- pay the rent (overdue since Mon 8 Mar, high priority, project Home)\n- call the plumber (due tomorrow at 09:00)\n- some day",
		},
		{Step: newStep("list_tasks", `{"due":"overdue"}`), Before: []toolstest.Step{plumber, rent}, Want: "1 open task that are overdue:\n- pay the rent"},
		{Step: newStep("list_tasks", `{"due":"tomorrow"}`), Before: []toolstest.Step{plumber, rent}, Want: "1 open task due tomorrow:\n- call the plumber"},
		{Step: newStep("list_tasks", `{"due":"this week","project":"home"}`), Before: []toolstest.Step{plumber, rent}, Want: "- pay the rent"},
		{Step: newStep("list_tasks", `{"query":"plumbers"}`), Before: []toolstest.Step{plumber, rent}, Want: "- call the plumber"},
		{Step: newStep("list_tasks", `{"status":"done"}`), Before: []toolstest.Step{plumber, newStep("complete_task", `{"task":"plumber"}`)}, Want: "- call the plumber (done today)"},
		{Step: newStep("update_task", `{"task":"plumber","due":"Friday","priority":"high"}`), Before: []toolstest.Step{plumber}, Want: "call the plumber (due Fri 12 Mar at 09:00, high priority)", Undone: "Restored the previous version"},
		{Step: newStep("update_task", `{"task":"rent","due":"none","project":"none"}`), Before: []toolstest.Step{rent}, Want: "pay the rent (high priority).", Undone: "Restored the previous version"},
		{Step: newStep("update_task", `{"task":"rent","priority":"high"}`), Before: []toolstest.Step{rent}, Want: "already has these values"},
		{Step: newStep("complete_task", `{"task":"the plumber"}`), Before: []toolstest.Step{plumber, rent}, Want: `Done: "call the plumber". 1 open task is left.`, Undone: "Restored the previous version"},
		{Step: newStep("complete_task", `{"task":"plumber"}`), Before: []toolstest.Step{plumber, newStep("complete_task", `{"task":"plumber"}`)}, Want: "is already done"},
		{Step: newStep("delete_task", `{"task":"rent"}`), Before: []toolstest.Step{plumber, rent}, Want: `Deleted task "pay the rent".`, Undone: "Restored"},
		{
			Step: newStep("project_status", `{"project":"home"}`), Before: []toolstest.Step{plumber, rent, newStep("create_task", `{"title":"paint","project":"Home","due":"2094-03-12"}`), newStep("create_task", `{"title":"sweep","project":"home"}`), newStep("complete_task", `{"task":"sweep"}`)},
			Want: "Project home\nTasks: 2 open (1 overdue, 1 due in the next 7 days), 1 done\nOverdue:\n- pay the rent (overdue since Mon 8 Mar, high priority)\nNext:\n- paint (due Fri 12 Mar)\nFinished lately:\n- sweep (done today)",
		},
		{Step: newStep("project_status", `{}`), Before: []toolstest.Step{plumber, rent}, Want: "Projects:\n- Home: 1 open (1 overdue, 0 due in the next 7 days), 0 done\n- tasks without a project: 1 open (0 overdue, 1 due in the next 7 days), 0 done"},
		{Step: newStep("project_status", `{"path":"~/Documents"}`), Want: "Tasks: none\nFolder ~/Documents: 7 files, 0 changed in the last 7 days", Outside: true},
	}
}

func reminderCases() []toolstest.Case {
	stretch := newStep("create_reminder", `{"text":"stretch","at":"in 20 minutes"}`)
	water := newStep("create_reminder", `{"text":"drink water","every":"every weekday at 8:30"}`)
	return []toolstest.Case{
		{Step: stretch, Want: "I will remind you today at 14:50: stretch.", Undone: "Canceled"},
		{Step: water, Want: "I will remind you every weekday at 08:30: drink water. Next: tomorrow at 08:30, Fri 12 Mar at 08:30 and Mon 15 Mar at 08:30.", Undone: "Canceled"},
		{Step: newStep("create_reminder", `{"text":"call mum","at":"tomorrow"}`), Want: "tomorrow at 09:00", Undone: "Canceled"},
		{Step: newStep("create_reminder", `{"text":"stand up","every":"30 minutes"}`), Want: "every 30 minutes", Undone: "Canceled"},
		{Step: newStep("create_reminder", `{"text":"take the pills","every":"day at 8","priority":"Urgent"}`), Want: "I will remind you every day at 08:00 (critical priority): take the pills.", Undone: "Canceled"},
		{Step: newStep("create_reminder", `{"text":"Milk","in":"home","priority":"high"}`), Want: `Added "Milk" to the list home`, Undone: "Removed"},
		{Step: newStep("list_reminders", `{"in":"hob"}`), Before: []toolstest.Step{newStep("create_reminder", `{"text":"stretch","at":"in 20 minutes","priority":"low"}`), newStep("update_reminder", `{"reminder":"stretch","priority":"high"}`)}, Want: "1 reminder:\n- stretch (high priority, next today at 14:50)"},
		{Step: newStep("update_reminder", `{"reminder":"water","priority":"none"}`), Before: []toolstest.Step{newStep("create_reminder", `{"text":"drink water","every":"every weekday at 8:30","priority":"low"}`)}, Want: "every weekday at 08:30: drink water", Undone: "back"},
		{Step: newStep("list_reminders", `{}`), Before: []toolstest.Step{water, stretch}, Want: "2 reminders:\n- stretch (today at 14:50)\n- drink water (every weekday at 08:30, next tomorrow at 08:30, Fri 12 Mar at 08:30 and Mon 15 Mar at 08:30)\n\nTo do, on the lists of home:\n- Pay rent", Outside: true},
		{Step: newStep("list_reminders", `{"query":"water"}`), Before: []toolstest.Step{water, stretch}, Want: "1 reminder:\n- drink water"},
		{Step: newStep("update_reminder", `{"reminder":"stretch","shift":"1h"}`), Before: []toolstest.Step{water, stretch}, Want: "today at 15:50: stretch", Undone: "back"},
		{Step: newStep("update_reminder", `{"reminder":"stretch","at":"tomorrow"}`), Before: []toolstest.Step{water, stretch}, Want: "tomorrow at 14:50: stretch", Undone: "back"},
		{Step: newStep("update_reminder", `{"reminder":"stretch","at":"16:00","text":"walk"}`), Before: []toolstest.Step{water, stretch}, Want: "today at 16:00: walk", Undone: "back"},
		{Step: newStep("update_reminder", `{"reminder":"water","every":"Monday at 9"}`), Before: []toolstest.Step{water, stretch}, Want: "every Monday at 09:00: drink water", Undone: "back"},
		{Step: newStep("cancel_reminder", `{"reminder":"water"}`), Before: []toolstest.Step{water, stretch}, Want: `Canceled the reminder "drink water"`, Undone: "Restored"},
		{Step: newStep("cancel_reminder", `{"reminder":"14:50"}`), Before: []toolstest.Step{water, stretch}, Want: `Canceled the reminder "stretch"`, Undone: "Restored"},
		{
			Step: newStep("daily_briefing", `{}`), Before: []toolstest.Step{
				stretch, newStep("create_task", `{"title":"pay the rent","due":"today"}`), newStep("create_task", `{"title":"old","due":"2094-03-01"}`),
				newStep("log_habit", `{"habit":"gym","date":"2094-03-09"}`), newStep("log_habit", `{"habit":"gym","date":"2094-03-08"}`),
				newStep("log_expense", `{"amount":12.50,"category":"lunch"}`), newStep("create_schedule", `{"every":"day at 18:00","action":"tidy Downloads"}`),
			},
			Want: "Your briefing for today, Wed 10 Mar:\n\nTasks\n- pay the rent (due today)\n- old (overdue since Mon 1 Mar)\n\nReminders\n- 14:50 stretch\n\n" +
				"Scheduled\n- 18:00 tidy Downloads\n\nHabits\n- gym: 2 days in a row, not done yet today\n\nSpending\n- 12.50 EUR this month, 12.50 EUR of it on the day",
		},
		{
			Step: newStep("weekly_review", `{}`), Before: []toolstest.Step{
				stretch, newStep("create_task", `{"title":"pay the rent","due":"friday"}`), newStep("create_task", `{"title":"old","due":"2094-03-01"}`),
				newStep("create_task", `{"title":"paint the fence"}`), newStep("complete_task", `{"task":"paint the fence"}`),
				newStep("log_habit", `{"habit":"gym","date":"2094-03-09"}`), newStep("log_habit", `{"habit":"gym","date":"2094-03-08"}`),
				newStep("log_expense", `{"amount":12.50,"category":"lunch"}`), newStep("log_expense", `{"amount":20,"category":"lunch","date":"2094-03-02"}`),
			},
			Want: "Your week from Thu 4 Mar to today, Wed 10 Mar:\n\nDone\n- paint the fence (Wed 10 Mar)\n\nOverdue\n- old (overdue since Mon 1 Mar)\n\n" +
				"Spent\n- 12.50 EUR in 1 expense: lunch 12.50; 20.00 EUR in the 7 days before\n\nHabits\n- gym: 2 of 7 days, 2 days in a row\n\n" +
				"The next 7 days:\n\nCalendar\n- Sat 13 Mar at 14:30: Dentist, until 15:30\n\nTasks due\n- pay the rent (due Fri 12 Mar)\n\nReminders\n- today at 14:50: stretch",
			Outside: true,
		},
		{Step: newStep("weekly_review", `{"date":"2094-03-01"}`), Want: "Your week from Tue 23 Feb to Mon 1 Mar:\n\nNothing was recorded.\n\nThe next 7 days:"},
		{Step: newStep("daily_briefing", `{"date":"tomorrow"}`), Before: []toolstest.Step{water}, Want: "Your briefing for tomorrow, Thu 11 Mar:\n\nReminders\n- 08:30 drink water\n\nTo do\n- Pay rent (tomorrow; high priority; home)", Outside: true},
		{Step: newStep("daily_briefing", `{}`), Want: "Nothing is on for today, Wed 10 Mar."},
	}
}

func watchCases() []toolstest.Case {
	brief := newStep("create_schedule", `{"every":"every weekday at 8:00","action":"brief me"}`)
	stoves := newStep("track_feed", `{"name":"Stoves","source":"http://boiler.example/feed.xml","source_type":"rss","keywords":["warm"]}`)
	hose := newStep("create_intent", `{"from":"me","words":["Garden"],"remind":"the hose"}`)
	pdf := newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR","pattern":"*.pdf"},"action":"Tell me!"}`)
	act := newStep("create_watcher", `{"kind":"file","config":{"path":"$DIR/a.txt"},"action":"summarise it","report_to":"chat"}`)
	goal := newStep("create_goal", `{"description":"read a book a month","priority":4,"check_every":"2 days","success":"12 are read"}`)
	daily := newStep("create_schedule", `{"every":"0 18 * * *","action":"tidy Downloads","missed":"skip"}`)
	return []toolstest.Case{
		{Step: brief, Want: "Scheduled every weekday at 08:00: brief me. Next: tomorrow at 08:00, Fri 12 Mar at 08:00 and Mon 15 Mar at 08:00.", Undone: "Canceled"},
		{Step: newStep("create_schedule", `{"at":"Friday at 17:00","action":"write the report"}`), Want: "Scheduled Fri 12 Mar at 17:00: write the report.", Undone: "Canceled"},
		{
			Step: newStep("list_schedules", `{}`), Before: []toolstest.Step{brief, daily},
			Want: "2 schedules:\n- every day at 18:00: tidy Downloads (next today at 18:00, tomorrow at 18:00 and Fri 12 Mar at 18:00)\n- every weekday at 08:00: brief me (next tomorrow at 08:00, Fri 12 Mar at 08:00 and Mon 15 Mar at 08:00)",
		},
		{Step: newStep("cancel_schedule", `{"schedule":"tidy"}`), Before: []toolstest.Step{brief, daily}, Want: "Canceled the schedule: every day at 18:00: tidy Downloads.", Undone: "Restored"},
		{Step: newStep("pause_schedule", `{"schedule":"brief me"}`), Before: []toolstest.Step{brief}, Want: "Paused the schedule: every weekday at 08:00: brief me.", Undone: "is active again"},
		{Step: newStep("pause_schedule", `{"schedule":"brief","resume":true}`), Before: []toolstest.Step{brief, newStep("pause_schedule", `{"schedule":"brief"}`)}, Want: "Resumed the schedule", Undone: "is paused again"},
		{Step: goal, Want: `Added the goal "read a book a month". I review it every 2 days.`, Undone: "Removed the goal"},
		{Step: newStep("create_goal", `{"description":"tidy up","check_every":"90m","next_review":"tomorrow at 9"}`), Want: "every 90 minutes", Undone: "Removed"},
		{Step: newStep("list_goals", `{}`), Want: "There are no goals."},
		{Step: newStep("list_goals", `{}`), Before: []toolstest.Step{goal}, Want: "1 goal(s):\n- read a book a month (priority 4; next review today at 14:30; reached when 12 are read)"},
		{Step: newStep("update_goal", `{"goal":"book","priority":5,"check_every":"weekly","success":"none"}`), Before: []toolstest.Step{goal}, Want: "Changed the goal: read a book a month (priority 5; next review today at 14:30).", Undone: "Restored the previous version"},
		{Step: newStep("pause_goal", `{"goal":"book"}`), Before: []toolstest.Step{goal}, Want: "Paused the goal: read a book", Undone: "Restored the previous version"},
		{Step: newStep("pause_goal", `{"goal":"book","resume":true}`), Before: []toolstest.Step{goal, newStep("complete_goal", `{"goal":"book"}`)}, Want: "Resumed the goal", Undone: "Restored the previous version"},
		{Step: newStep("complete_goal", `{"goal":"book"}`), Before: []toolstest.Step{goal}, Want: "Reached the goal: read a book", Undone: "Restored the previous version"},
		{Step: newStep("delete_goal", `{"goal":"book"}`), Before: []toolstest.Step{goal}, Want: `Removed the goal "read a book a month".`, Undone: "Restored"},
		{Step: newStep("list_watchers", `{}`), Want: "There are no watchers."},
		{Step: hose, Want: `I am waiting for your next message with "Garden" and will then remind you: the hose.`, Undone: "Canceled"},
		{Step: newStep("create_intent", `{"from":"ada@example.org","tell":"the venue changed","each_time":true}`), Want: `I am waiting for each message from "ada@example.org". Then, if you approve, I will send the sender: the venue changed.`, Undone: "Canceled"},
		{Step: newStep("create_intent", `{"from":"Ada","words":["invoice"]}`), Want: `the next message from "Ada" with "invoice" and will then notify you. I do not know an account, address or number of Ada yet.`, Undone: "Canceled"},
		{Step: newStep("create_intent", `{"watcher":"tidy","do":"brief me"}`), Before: []toolstest.Step{daily}, Want: `the next event of the watcher "tidy Downloads" and will then do this: brief me.`, Undone: "Canceled"},
		{Step: newStep("list_intents", `{}`), Want: "There are no intents."},
		{Step: newStep("list_intents", `{}`), Before: []toolstest.Step{hose, pdf}, Want: "1 intent:\n- your next message with \"Garden\", then remind you: the hose"},
		{Step: newStep("cancel_intent", `{"intent":"hose"}`), Before: []toolstest.Step{hose}, Want: "Canceled the intent: ", Undone: "Restored"},
		{Step: newStep("try_watcher", `{"watcher":"tidy","days":3}`), Before: []toolstest.Step{brief, daily}, Want: "In the last 3 days it would have fired 3 times:\n- "},
		{Step: newStep("try_watcher", `{"kind":"cron","config":{"cron":"0 8 1 * *"}}`), Want: "In the last 7 days it would not have fired."},
		{Step: newStep("try_watcher", `{"kind":"feed","config":{"url":"https://boiler.example.com/feed.xml"}}`), Want: "would not have fired", Outside: true},
		{Step: pdf, Want: "PDF files in", Undone: "Canceled"},
		{Step: act, Want: ". Each time, I will do this: summarise it.", Undone: "Canceled"},
		{Step: newStep("list_watchers", `{}`), Before: []toolstest.Step{pdf, act, daily}, Want: "2 watchers:\n- "},
		{Step: newStep("track_topic", `{"topic":"boiler repair","keywords":["gas"],"interval_hours":12}`), Want: `I follow new pages about "boiler repair" with "gas"`, Undone: "Canceled the watcher"},
		{Step: stoves, Want: "as Stoves and will notify you of what is new.", Undone: "Canceled the watcher"},
		{Step: newStep("untrack_feed", `{"feed":"stoves"}`), Before: []toolstest.Step{stoves}, Want: "Canceled the watcher: ", Undone: "Restored"},
		{Step: newStep("untrack_feed", `{"feed":"boiler repair"}`), Before: []toolstest.Step{stoves, newStep("track_topic", `{"topic":"boiler repair"}`)}, Want: `new pages about "boiler repair"`, Undone: "Restored"},
		{Step: newStep("cancel_watcher", `{"watcher":"pdf"}`), Before: []toolstest.Step{pdf, act}, Want: "Canceled the watcher: ", Undone: "Restored"},
		{Step: newStep("pause_watcher", `{"watcher":"summarise"}`), Before: []toolstest.Step{pdf, act}, Want: "Paused the watcher: ", Undone: "is active again"},
		{Step: newStep("update_watcher", `{"watcher":"pdf","active_hours":"mon-fri 08:00-18:00","per_day":3}`), Before: []toolstest.Step{pdf}, Want: "(only mon-fri 08:00-18:00, at most 3 a day).", Undone: "Restored the watcher: "},
		{Step: newStep("update_watcher", `{"per_day":-1}`), Before: []toolstest.Step{pdf, newStep("update_watcher", `{"per_day":3}`)}, Want: "Changed the watcher: ", Undone: "(at most 3 a day)."},
		{Step: newStep("update_watcher", `{"active_hours":"always","per_day":1}`), Before: []toolstest.Step{pdf}, Want: "(at most 1 a day).", Undone: "Restored the watcher"},
		{Step: newStep("snooze_notice", `{"notice":"backup","until":"tomorrow at 9"}`), Want: "Snoozed until tomorrow at 09:00: The backup is done.", Undone: "The notification is no longer snoozed."},
		{Step: newStep("snooze_notice", `{"notice":"n-bbbbbbbb","until":"2h"}`), Want: "Snoozed until today at 16:30: Mail from Eve: buy stoves", Undone: "no longer snoozed", Outside: true},
		{Step: newStep("pause_watcher", `{"watcher":"pdf","resume":true}`), Before: []toolstest.Step{pdf}, Want: "The watcher is already active"},
	}
}

func countCases() []toolstest.Case {
	lunch := newStep("log_expense", `{"amount":12.50,"category":"Lunch"}`)
	return []toolstest.Case{
		{Step: lunch, Want: "Logged 12.50 EUR for Lunch, today.", Undone: "Removed"},
		{Step: newStep("log_expense", `{"amount":3,"currency":"$","vendor":"Kiosk","date":"Monday"}`), Want: "Logged 3.00 USD for other at Kiosk, Mon 8 Mar.", Undone: "Removed"},
		{Step: newStep("spending_summary", `{"period":"this_month"}`), Before: []toolstest.Step{lunch, newStep("log_expense", `{"amount":0.1,"category":"food"}`), newStep("log_expense", `{"amount":0.2,"category":"food"}`)}, Want: "You spent 12.80 EUR this month (3 entries).\n- Lunch: 12.50 EUR (1)\n- food: 0.30 EUR (2)"},
		{Step: newStep("spending_summary", `{"period":"this_month"}`), Before: []toolstest.Step{lunch, newStep("log_expense", `{"amount":0.1,"category":"Pet Food"}`), newStep("log_expense", `{"amount":0.2,"category":"pet food"}`)}, Want: "\n- Pet Food: 0.30 EUR (2)"},
		{Step: newStep("budget_check", `{"category":"pet food"}`), Before: []toolstest.Step{newStep("budget_check", `{"action":"set","category":"Pet Food","limit":10}`), newStep("log_expense", `{"amount":2.5,"category":"Pet Foods"}`)}, Want: "Pet Food: 2.50 of 10.00 EUR spent"},
		{Step: newStep("spending_summary", `{"period":"2094-02"}`), Before: []toolstest.Step{lunch}, Want: "No spending was logged in 2094-02."},
		{Step: newStep("log_habit", `{"habit":"Gym","value":45,"unit":"minutes"}`), Before: []toolstest.Step{newStep("log_habit", `{"habit":"gym","date":"yesterday"}`)}, Want: "Logged Gym (45 minutes) for today. 2 days in a row.", Undone: "Removed"},
		{Step: newStep("habit_streak", `{"habit":"GYM"}`), Before: []toolstest.Step{newStep("log_habit", `{"habit":"gym"}`), newStep("log_habit", `{"habit":"gym class"}`)}, Want: "gym: 1 day in a row (longest 1, 1 day in all)."},
		{Step: newStep("habit_streak", `{}`), Want: "No habit has been logged yet."},
		{Step: newStep("habit_report", `{"habit":"gym"}`), Before: []toolstest.Step{newStep("log_habit", `{"habit":"gym","value":30,"unit":"minutes"}`), newStep("log_habit", `{"habit":"gym","date":"yesterday"}`), newStep("log_habit", `{"habit":"gym class"}`), newStep("set_habit_target", `{"habit":"gym","goal":3}`)}, Want: "gym, this month: done on 2 of 10 days (20 %). Streak: 2 days in a row. Longest streak: 2 days; 2 days in all.\nValues: 30 minutes, 30 minutes on average, from 30 to 30.\nTarget: 3 days per week; this week 2 of 3 days.\nPictures: "},
		{Step: newStep("import_habits", `{"path":"habits.csv"}`), Before: []toolstest.Step{newStep("write_file", `{"path":"habits.csv","content":"Date,Habit\n2094-03-01,Yoga\n2094-03-02,Yoga\n"}`), newStep("log_habit", `{"habit":"yoga","date":"2094-03-02"}`)}, Want: "Imported 1 entry from habits.csv. 1 logged before.\n- Yoga: 1", Outside: true, Undone: "Removed 1 imported entry."},
		{Step: newStep("habit_report", `{}`), Want: "No habit has been logged yet."},
		{Step: newStep("set_habit_target", `{"habit":"Gym","goal":30,"unit":"minutes","period":"day","remind":"20:00"}`), Want: "The target for Gym is now 30 minutes per day. I will remind you each day at 20:00.", Undone: "Removed the target for Gym."},
		{Step: newStep("set_habit_target", `{"habit":"gym","goal":4}`), Before: []toolstest.Step{newStep("set_habit_target", `{"habit":"gym","goal":3,"remind":"20:00"}`)}, Want: "The target for gym is now 4 days per week, before 3 days per week. The daily reminder stays.", Undone: "Restored the target for gym: 3 days per week."},
		{Step: newStep("set_habit_target", `{"habit":"gym","remind":"21:00"}`), Before: []toolstest.Step{newStep("set_habit_target", `{"habit":"gym","goal":3}`)}, Want: "The target for gym is now 3 days per week. I will remind you each day at 21:00.", Undone: "Restored the target for gym: 3 days per week."},
		{Step: newStep("set_habit_target", `{"habit":"gym","remind":"none"}`), Before: []toolstest.Step{newStep("set_habit_target", `{"habit":"gym","goal":3,"remind":"20:00"}`)}, Want: "I will no longer remind you.", Undone: "Restored the target for gym: 3 days per week."},
		{Step: newStep("set_habit_target", `{"habit":"gym","goal":0}`), Before: []toolstest.Step{newStep("set_habit_target", `{"habit":"gym","goal":3,"remind":"20:00"}`)}, Want: "Removed the target for gym (3 days per week).", Undone: "Restored the target for gym: 3 days per week."},
		{Step: newStep("budget_check", `{"action":"set","category":"Lunches","limit":50}`), Before: []toolstest.Step{lunch}, Want: "The budget for Lunches is now 50.00 EUR per month. Lunches: 12.50 of 50.00 EUR spent this month, 37.50 left (25 %, 21 days to go). At this pace it will be 38.75 EUR.", Undone: "Removed the budget"},
		{Step: newStep("budget_check", `{"action":"set","limit":20,"period":"week"}`), Before: []toolstest.Step{newStep("budget_check", `{"action":"set","limit":10,"period":"week"}`)}, Want: "before 10.00 EUR", Undone: "Restored the budget for all spending of 10.00 EUR per week."},
		{Step: newStep("budget_check", `{"action":"remove","category":"lunch"}`), Before: []toolstest.Step{newStep("budget_check", `{"action":"set","category":"Lunch","limit":50}`)}, Want: "Removed the budget for Lunch of 50.00 EUR", Undone: "Restored the budget"},
		{Step: newStep("budget_check", `{}`), Before: []toolstest.Step{lunch, newStep("log_expense", `{"amount":7,"currency":"USD","category":"lunch"}`), newStep("log_expense", `{"amount":500,"category":"lunch","date":"2094-02-27"}`), newStep("budget_check", `{"action":"set","category":"lunch","limit":10}`)}, Want: "lunch: 12.50 of 10.00 EUR spent this month, 2.50 over the budget (125 %, 21 days to go). Not counted: 7.00 USD."},
		{Step: newStep("budget_check", `{"category":"lunch"}`), Before: []toolstest.Step{lunch}, Want: "No budget is set for lunch. You spent 12.50 EUR this month."},
		{Step: newStep("recurring_costs", `{"action":"add","name":"Netflix","amount":12.99,"due":"2094-01-31"}`), Want: "Noted: Netflix costs 12.99 EUR per month (155.88 per year). Next payment: Wed 31 Mar.", Undone: "Removed the recurring cost."},
		{Step: newStep("recurring_costs", `{"action":"remove","name":"netflix"}`), Before: []toolstest.Step{newStep("recurring_costs", `{"action":"add","name":"Netflix","amount":12.99}`)}, Want: "Removed the recurring cost Netflix (12.99 EUR per month).", Undone: "Restored the recurring cost Netflix."},
		{Step: newStep("recurring_costs", `{}`), Before: []toolstest.Step{newStep("log_expense", `{"amount":700,"vendor":"Landlord","date":"2094-01-01"}`), newStep("log_expense", `{"amount":700,"vendor":"Landlord","date":"2094-02-01"}`), newStep("log_expense", `{"amount":720,"vendor":"Landlord","date":"2094-03-01"}`)}, Want: "- Landlord: 720.00 EUR per month, next Thu 1 Apr (3 payments); before, it was 700.00"},
		{Step: newStep("recurring_costs", `{}`), Want: "No recurring costs are declared"},
		{Step: newStep("parse_receipt", `{"text":"Kiosk\n9.3.2094\nTea 2.00\nBun 1.50\nTotal EUR 3.50"}`), Want: "Kiosk, yesterday (2094-03-09): 3.50 EUR.\n- Tea: 2.00\n- Bun: 1.50\nCheck: 2 lines add up to the total of 3.50."},
		{Step: newStep("parse_receipt", `{"text":"Kiosk\n9.3.2094\nTea 2.00\nTotal EUR 3.50","log":true}`), Want: "Question to the user: The lines add up to 2.00, but the total says 3.50. Which amount is right?\nNothing was logged"},
		{Step: newStep("parse_receipt", `{"text":"Kiosk\n9.3.2094\nTea 2.00\nTotal EUR 3.50","log":true,"total":3.5,"category":"Snacks"}`), Want: "Logged 3.50 EUR for Snacks.", Undone: "Removed the expense of 3.50 EUR."},
		{Step: newStep("parse_receipt", `{"text":"Kiosk\n9.3.2094\nTea 2.00\nTotal EUR 2.00","log":true}`), Before: []toolstest.Step{newStep("log_expense", `{"amount":2,"vendor":"kiosk","date":"yesterday"}`)}, Want: "It was logged before"},
		{Step: newStep("parse_receipt", `{"path":"receipt.txt"}`), Before: []toolstest.Step{newStep("write_file", `{"path":"receipt.txt","content":"Kiosk\nTea 2.00\nTotal EUR 2.00"}`)}, Want: "No date is printed.", Outside: true},
		{Step: newStep("import_expenses", `{"path":"bank.csv"}`), Before: []toolstest.Step{newStep("write_file", `{"path":"bank.csv","content":"Datum;Name;Betrag\n31.01.2094;Lidl;-1.234,50\n01.02.2094;Chef;2.000,00\n"}`)}, Want: "Imported 1 expense from bank.csv: 1234.50 EUR, from 2094-01-31 to 2094-01-31. Left out: 1 incoming payment.", Outside: true, Undone: "Removed 1 imported expense."},
		{Step: newStep("spending_summary", `{"chart":"bar"}`), Before: []toolstest.Step{lunch}, Want: ".svg"},
		{Step: newStep("status", `{}`), Want: "Hob test"},
		{Step: newStep("get_usage_stats", `{}`), Want: "Model usage today (Wed 10 Mar): 3 model calls in 2 turns, 1200 tokens in, 90 out, $0.01.\n- anthropic/opus: 3 calls, 1200 tokens in, 90 out, $0.01\nLimit today: $0.01 of $0.05 (25 %)."},
		{Step: newStep("get_usage_stats", `{"period":"2094-03-01:2094-03-05"}`), Want: "1 model call in 1 turn, 400 tokens in, 10 out, cost unknown."},
		{Step: newStep("get_usage_stats", `{"period":"2094-02"}`), Want: "No model call in 2094-02."},
		{Step: newStep("undo", `{"last":2}`), Want: "Undone."},
		{Step: newStep("explain", `{"what":"silence","about":"the mail from Ada"}`), Want: "nothing was held back"},
	}
}

func canvasCases() []toolstest.Case {
	board := newStep("canvas_push", `{"title":"Board","content":"# Plan\n\n- tea"}`)
	trips := newStep("canvas_push", `{"title":"Trips","content_type":"bar","content":"city,km\nOslo,10\nRiga,30\nOslo,5"}`)
	pinned := newStep("canvas_push", `{"title":"Board","pin":true}`)
	codes := newStep("canvas_push", `{"title":"Codes","content_type":"table","content":"what,note\nrouter,The password of the router is hunter2xy"}`)
	codesHTML := newStep("canvas_push", `{"title":"Codes","content_type":"html","content":"<p>The <b>pass</b>word of the router is <i>hunter</i>2xy</p>"}`)
	return []toolstest.Case{
		{Step: board, Want: `Put the widget "Board" on the page Today.`, Undone: `Removed the widget "Board"`},
		{Step: newStep("canvas_push", `{"title":"board","content":"milk","append":true}`), Before: []toolstest.Step{board}, Want: `Changed the widget "board"`, Undone: `Restored the widget "Board"`},
		{Step: pinned, Before: []toolstest.Step{board}, Want: "It is pinned.", Undone: `Restored the widget "Board"`},
		{Step: trips, Want: `Put the widget "Trips"`, Undone: "Removed"},
		{Step: newStep("canvas_reset", `{}`), Before: []toolstest.Step{board, trips, pinned}, Want: `Removed the widget "Trips".`, Undone: `Restored the widget "Trips"`},
		{Step: newStep("canvas_reset", `{"title":"BOARD"}`), Before: []toolstest.Step{board, pinned}, Want: `Removed the widget "Board".`, Undone: "Restored"},
		{Step: newStep("canvas_reset", `{}`), Want: "There is no widget to remove."},
		{Step: newStep("canvas_snapshot", `{}`), Want: "The canvas is empty."},
		{Step: newStep("canvas_snapshot", `{}`), Before: []toolstest.Step{board, trips, pinned}, Want: "Widget \"Board\" (markdown, pinned):\n# Plan\n\n- tea\n\nWidget \"Trips\" (bar):\ncity,km"},
		{Step: newStep("canvas_eval", `{"group":"city","measure":"sum","sort":"-sum of km"}`), Before: []toolstest.Step{trips}, Want: "city,sum of km\nRiga,30\nOslo,15"},
		{Step: newStep("canvas_eval", `{"title":"trips","where":"km >= 10","sort":"km","limit":1}`), Before: []toolstest.Step{trips}, Want: "city,km\nOslo,10"},
		{Step: newStep("canvas_eval", `{"measure":"average","column":"km","save":"Mean"}`), Before: []toolstest.Step{trips}, Want: "Put the widget \"Mean\" on the page Today.\ngroup,average of km\nall rows,15", Undone: `Removed the widget "Mean"`},
		// The user did not ask for the password, so the model must not read it.
		{Step: newStep("canvas_snapshot", `{}`), Before: []toolstest.Step{codes}, Want: "router,The password of the router is " + credential.Mark},
		{Step: newStep("canvas_snapshot", `{}`), Before: []toolstest.Step{codesHTML}, Want: "The password of the router is " + credential.Mark},
		{Step: newStep("canvas_eval", `{"limit":1,"save":"Copy"}`), Before: []toolstest.Step{codes}, Want: "router,The password of the router is " + credential.Mark, Undone: "Removed"},
	}
}

func webCases() []toolstest.Case {
	return []toolstest.Case{
		{Step: newStep("browse_url", `{"url":"http://boiler.example/a"}`), Want: "Title: Boilers\nAddress: http://boiler.example/a\n\nThey are warm. More[1]\n\nLinks:\n[1] http://boiler.example/b", Outside: true},
		{Step: newStep("connect_service", `{"service":"github"}`), Want: "To connect GitHub:\n1. Run in a terminal: hob mcp add github"},
		{Step: newStep("describe_database", `{"table":"orders"}`), Want: "| id | INTEGER | primary key |", Outside: true},
		{Step: newStep("query_database", `{"sql":"SELECT total FROM orders WHERE id = ?","params":["1"]}`), Want: "| total |\n| --- |\n| 12.5 |\n1 row.", Outside: true},
		{Step: newStep("summarize_article", `{"url":"http://boiler.example/story"}`), Want: "The boiler holds 120 litres of water", Outside: true},
		{Step: newStep("content_digest", `{}`), Want: "You follow no feed, page or topic yet."},
		{Step: newStep("content_digest", `{"keywords":["warm"]}`), Before: []toolstest.Step{newStep("track_feed", `{"name":"Stoves","source":"http://boiler.example/feed.xml"}`)}, Want: "Stoves:\n- They are warm", Outside: true},
		{Step: newStep("fact_check", `{"claim":"The boiler holds 90 litres"}`), Want: "Verdict: contradicted", Outside: true},
		{Step: newStep("research_topic", `{"topic":"How much water does the boiler hold?","depth":"quick"}`), Want: "“The boiler holds 120 litres of water and weighs 80 kg.” [1]", Undone: `Deleted the note "Research: How much water does the boiler hold?".`, Outside: true},
		{Step: newStep("compile_report", `{"topic":"How much water does the boiler hold?"}`), Want: "Saved as ", Undone: "Deleted ", Outside: true},
		{Step: newStep("compile_report", `{"topic":"water in the boiler","format":"brief","file":"html"}`), Before: []toolstest.Step{newStep("research_topic", `{"topic":"How much water does the boiler hold?","depth":"quick"}`)}, Want: "- “The boiler holds 120 litres of water and weighs 80 kg.” [1]", Undone: "Deleted ", Outside: true},
		{Step: newStep("search_papers", `{"query":"boilers","services":["arxiv"]}`), Want: "1. Boilers at rest (2021)\n   arXiv\n   They cool.\n   https://arxiv.org/abs/1", Outside: true},
		{Step: newStep("web_search", `{"query":"boiler"}`), Want: "1. Boilers\n   https://boiler.example/a\n   All about them.", Outside: true},
	}
}
