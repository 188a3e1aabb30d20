package offline

import (
	"strings"
	"testing"
	"time"

	"hob/autonomy/llm"
)

func TestFollowUps(t *testing.T) {
	tests := []struct {
		name    string
		said    []string // all but the last must be answered with a question
		want    []string // calls for the last message
		answers string   // if there are no calls: a part of the last answer
	}{
		{"time of a reminder", []string{"remind me to call mum", "tomorrow at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"time in a sentence", []string{"remind me to call mum", "oh, in 20 minutes please"}, []string{`create_reminder{"at":"2026-03-04T10:35:00+02:00","text":"call mum"}`}, ""},
		{"a recurrence", []string{"remind me to stretch", "every weekday at 11"}, []string{`create_reminder{"every":"0 11 * * 1-5","text":"stretch"}`}, ""},
		{"hour of a known day", []string{"remind me tomorrow to call mum", "at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"bare hour", []string{"remind me on Friday to call mum", "17:30"}, []string{`create_reminder{"at":"2026-03-06T17:30:00+02:00","text":"call mum"}`}, ""},
		{"every month on a known day", []string{"remind me to pay rent on the 1st of april", "every month"}, []string{`create_reminder{"every":"0 9 1 * *","text":"pay rent"}`}, ""},
		{"every week on a known day", []string{"remind me on tuesday to water the plants", "every week"}, []string{`create_reminder{"every":"0 9 * * 2","text":"water the plants"}`}, ""},
		{"the day of the month", []string{"remind me to pay rent", "every month", "the 2nd at 8am"}, []string{`create_reminder{"every":"0 8 2 * *","text":"pay rent"}`}, ""},
		{"another day after all", []string{"remind me tomorrow to call mum", "on Friday at 9"}, []string{`create_reminder{"at":"2026-03-06T09:00:00+02:00","text":"call mum"}`}, ""},
		{"day, then hour", []string{"remind me to call mum", "tomorrow", "at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"what to be reminded of", []string{"remind me tomorrow at 9", "to water the plants"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"water the plants"}`}, ""},
		{"the rest of a reminder", []string{"remind me", "to stretch in 5 minutes"}, []string{`create_reminder{"at":"2026-03-04T10:20:00+02:00","text":"stretch"}`}, ""},
		{"text, then time", []string{"set a reminder", "stretch", "in 5 minutes"}, []string{`create_reminder{"at":"2026-03-04T10:20:00+02:00","text":"stretch"}`}, ""},
		{"a task", []string{"add a task", "buy milk tomorrow"}, []string{`create_task{"due":"2026-03-05","title":"buy milk"}`}, ""},
		{"a note", []string{"take a note", "the boiler hums"}, []string{`create_note{"text":"the boiler hums"}`}, ""},
		{"a fact", []string{"remember this", "I like tea"}, []string{`remember{"text":"I like tea"}`}, ""},
		{"an expense", []string{"log an expense", "12 on lunch"}, []string{`log_expense{"amount":12,"category":"lunch"}`}, ""},
		{"a habit", []string{"log a habit", "reading"}, []string{`log_habit{"habit":"reading"}`}, ""},
		{"a folder", []string{"search my files for invoice", "~/Documents"}, []string{`search_files{"path":"~/Documents","query":"invoice"}`}, ""},
		{"a well-known folder", []string{"search my files for invoice", "in my downloads folder"}, []string{`search_files{"path":"~/Downloads","query":"invoice"}`}, ""},
		{"what to watch", []string{"watch a folder", "~/Downloads"}, []string{`create_watcher{"config":{"path":"~/Downloads"},"kind":"file"}`}, ""},
		{"contents of a file", []string{"create a file ~/Documents/plan.txt", "buy paint"}, []string{`write_file{"content":"buy paint","path":"~/Documents/plan.txt"}`}, ""},
		{"an alarm", []string{"set an alarm for 6:30", "the first one"}, []string{`create_reminder{"at":"2026-03-05T06:30:00+02:00","text":"alarm"}`}, ""},
		{"a refusal is no yes", []string{"call mum tomorrow at 9", "don't remind me"}, nil, ""},
		{"a refusal with more words is no yes", []string{"call mum tomorrow at 9", "don't worry about it"}, nil, ""},
		{"a change is no yes", []string{"call mum tomorrow at 9", "sure, but at 1"}, nil, ""},
		{"yes to a reminder", []string{"call mum tomorrow at 9", "yes please"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"no to a reminder", []string{"call mum tomorrow at 9", "no"}, nil, "changed nothing"},
		{"one of two dates", []string{"add a task to pay by 03/04/2026", "3 April 2026"}, []string{`create_task{"due":"2026-04-03","title":"pay"}`}, ""},
		{"the second of two dates", []string{"add a task to pay by 03/04/2026", "the second one"}, []string{`create_task{"due":"2026-03-04","title":"pay"}`}, ""},
		{"back to it", []string{"remind me to call mum", "back to mum: tomorrow at 9"}, []string{`create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"call mum"}`}, ""},
		{"never mind", []string{"remind me to call mum", "never mind"}, nil, "changed nothing"},
		{"undo means the question", []string{"remind me to call mum", "undo that"}, nil, "changed nothing"},
		{"something else", []string{"remind me to call mum", "list my tasks"}, []string{`list_tasks{}`}, ""},
		{"a late answer", []string{"remind me to call mum", "soon", "at 5pm"}, []string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"call mum"}`}, ""},
		{"no answer at all", []string{"remind me to call mum", "the blue one"}, nil, "When should I remind you?"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			for _, s := range tc.said[:len(tc.said)-1] {
				if calls := c.hearText(s); len(calls) > 0 || !strings.HasSuffix(strings.TrimSpace(c.lastText()), "?") {
					t.Fatalf("%q led to no question: calls %v, reply %q", s, calls, c.lastText())
				}
			}
			expectCalls(t, c.hearText(tc.said[len(tc.said)-1]), tc.want...)
			if !strings.Contains(c.lastText(), tc.answers) {
				t.Errorf("reply = %q", c.lastText())
			}
		})
	}
}

func TestFollowUps_AfterACallInTheSameTurn(t *testing.T) {
	c := newConversation(t)
	expectCalls(t, c.hearText("add a task to buy milk and remind me to cook"), `create_task{"title":"buy milk"}`)
	c.answerCalls("Added.")
	expectCalls(t, c.hearText("at 6pm"), `create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"cook"}`)
}

func TestFollowUps_AnswerNeedsItsQuestion(t *testing.T) {
	c := newConversation(t)
	c.hearText("remind me to call mum")
	c.messages[1] = llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: "Something else?"}}}
	if calls := c.hearText("tomorrow at 9"); len(calls) > 0 {
		t.Errorf("an expired question accepted an answer: %v", calls)
	}
}

func TestDialogue(t *testing.T) {
	tests := []struct {
		name, first, result, second string
		want                        []string
	}{
		{"another time", "remind me to call mum at 5pm", "OK", "no, I meant 6pm", []string{`update_reminder{"at":"18:00","reminder":"call mum"}`}},
		{"another day", "remind me tomorrow at 9 to call Steve", "OK", "oops, saturday not tomorrow", []string{`update_reminder{"at":"2026-03-07","reminder":"call Steve"}`}},
		{"other days of a recurrence", "remind me every monday at 9 to send it off", "OK", "make it tuesdays instead", []string{`update_reminder{"every":"0 9 * * 2","reminder":"send it off"}`}},
		{"a bare hour", "wake me at 6 tomorrow", "OK", "make it 7 please", []string{`update_reminder{"at":"07:00","reminder":"wake up"}`}},
		{"a bare hour in the afternoon", "remind me at 5pm to call mum", "OK", "no, 6", []string{`update_reminder{"at":"18:00","reminder":"call mum"}`}},
		{"a number of things", "remind me at 5pm to buy 5 eggs", "OK", "no, 6", nil},
		{"no time to correct", "add a task to call the bank", "OK", "make it 6", nil},
		{"the minutes", "remind me at 5pm to call mum", "OK", "make it half past", []string{`update_reminder{"at":"17:30","reminder":"call mum"}`}},
		{"days off", "remind me every day at 8 to stretch", "OK", "not on sundays though", []string{`update_reminder{"every":"0 8 * * 1,2,3,4,5,6","reminder":"stretch"}`}},
		{"more minutes", "set a timer for 10 minutes", "OK", "add 5 more minutes", []string{`update_reminder{"reminder":"timer","shift":"5m0s"}`}},
		{"the same alarm", "wake me at 6 tomorrow", "OK", "and the same on tuesday", []string{`create_reminder{"at":"2026-03-10T06:00:00+02:00","text":"wake up"}`}},
		{"the same time on that day", "remind me tomorrow at 12:30 to buy stamps", "OK", "and remind me to post the cards at the same time.", []string{`create_reminder{"at":"2026-03-05T12:30:00+02:00","text":"post the cards"}`}},
		{"the same time", "remind me on friday at 10:15 of the doctor", "OK", "they called, it's been moved to monday same time", []string{`update_reminder{"at":"2026-03-09T10:15:00+02:00","reminder":"the doctor"}`}},
		{"a task keeps its time of day", "add a task to call the bank on friday at 3pm", "OK", "move it to monday", []string{`update_task{"due":"2026-03-09T15:00:00+02:00","task":"call the bank"}`}},
		{"later", "remind me at 3pm to call Ed", "OK", "push it back by an hour", []string{`update_reminder{"reminder":"call Ed","shift":"1h0m0s"}`}},
		{"a priority", "add a task to call the bank", "OK", "make it urgent", []string{`update_task{"priority":"critical","task":"call the bank"}`}},
		{"another name", "remind me at 5pm to call mum", "OK", "no, dad", []string{`update_reminder{"reminder":"call mum","text":"call dad"}`}},
		{"another spelling", "remind me at 5pm to call Lena", "OK", "it's Lina not Lena", []string{`update_reminder{"reminder":"call Lena","text":"call Lina"}`}},
		{"an hour without at", "remind me to phone the school at 2pm", "OK", "move it to 3", []string{`update_reminder{"at":"15:00","reminder":"phone the school"}`}},
		{"half of the day", "remind me tomorrow at 8 to feed the cat", "OK", "wait, 8 in the evening", []string{`update_reminder{"at":"20:00","reminder":"feed the cat"}`}},
		{"the morning stays", "wake me at 7 tomorrow", "OK", "no, 6:30", []string{`update_reminder{"at":"06:30","reminder":"wake up"}`}},
		{"the evening stays", "remind me at 5pm to call mum", "OK", "make it 6:30", []string{`update_reminder{"at":"18:30","reminder":"call mum"}`}},
		{"a priority alone", "add a task to wash the car", "OK", "low priority", []string{`update_task{"priority":"low","task":"wash the car"}`}},
		{"a more exact name", "put cheese on the shopping list", "OK", "I mean cream cheese", []string{`update_task{"task":"cheese","title":"cream cheese"}`}},
		{"another color", "add a task to buy blue paint", "OK", "sorry, green paint", []string{`update_task{"task":"buy blue paint","title":"buy green paint"}`}},
		{"a time of day that is past today", "when is the meeting with legal?", "1 reminder:\n- the meeting with legal (tomorrow at 11:00)", "move it to 9:30", []string{`update_reminder{"at":"09:30","reminder":"the meeting with legal"}`}},
		{"the day after", "what do I have on Friday?", "Nothing.", "and the day after?", []string{`daily_briefing{"date":"2026-03-07"}`}},
		{"not an hour", "remind me to phone the school at 2pm", "OK", "move it to 31", nil},
		{"delete", "remind me at 5pm to call mum", "OK", "delete it", []string{`cancel_reminder{"reminder":"call mum"}`}},
		{"one of a list", "list my tasks", "2 open tasks:\n- paint (due today)\n- dig", "the second one is done", []string{`complete_task{"task":"dig"}`}},
		{"one of several", "cancel the anna reminder", "error: error invalid_arguments: several match: 2 reminders match \"anna\"; name one:\n- Anna, today (wabcd)\n- Anna, tomorrow (wefgh)", "the second one", []string{`cancel_reminder{"reminder":"wefgh"}`}},
		{"a question again", "what is on today?", "Nothing.", "and tomorrow?", []string{`daily_briefing{"date":"2026-03-05"}`}},
		{"the same again", "remind me at 5pm to call mum", "OK", "same for Friday", []string{`create_reminder{"at":"2026-03-06T17:00:00+02:00","text":"call mum"}`}},
		{"an amount", "spent 15 on lunch", "OK", "no wait it was 50", []string{`undo{"id":"off_a0952f7ec624e5f0"}`}},
		{"a list continues", "add milk to my shopping list", `Added task "milk", project shopping list.`, "and baking powder", []string{`create_task{"project":"shopping list","title":"baking powder"}`}},
		{"a list continues with too", "add milk to my shopping list", `Added task "milk", project shopping list.`, "eggs too", []string{`create_task{"project":"shopping list","title":"eggs"}`}},
		{"more on a list", "what's on my shopping list?", `There are no open tasks in the project "shopping list".`, "add a towel then, and socks", []string{`create_task{"project":"shopping list","title":"towel"}`, `create_task{"project":"shopping list","title":"socks"}`}},
		{"off a list with a reason", "add sugar to my shopping list", `Added task "sugar", project shopping list.`, "oh and take off the sugar, we have some", []string{`complete_task{"project":"shopping list","task":"sugar"}`}},
		{"got it", "what's on my shopping list?", "1 open task in the project \"shopping list\":\n- eggs (project shopping list)", "got the eggs", []string{`complete_task{"project":"shopping list","task":"eggs"}`}},
		{"the list", "add milk to my shopping list", `Added task "milk", project shopping list.`, "what's on the list?", []string{`list_tasks{"project":"shopping list"}`}},
		{"left on a list", "add milk to my shopping list", `Added task "milk", project shopping list.`, "whats left", []string{`list_tasks{"project":"shopping list"}`}},
		{"clear it is the list", "add milk to my shopping list", `Added task "milk", project shopping list.`, "clear it", []string{`list_tasks{"project":"shopping list"}`}},
		{"oh and more on a list", "add milk to my shopping list", `Added task "milk", project shopping list.`, "oh and some coffee", []string{`create_task{"project":"shopping list","title":"coffee"}`}},
		{"another item", "add butter to my shopping list", `Added task "butter", project shopping list.`, "actually not butter, margarine", []string{`update_task{"task":"butter","title":"margarine"}`}},
		{"two words for two", "add red wine to my shopping list", `Added task "red wine", project shopping list.`, "not red wine, white wine", []string{`update_task{"task":"red wine","title":"white wine"}`}},
		{"no comma between several words", "add red wine to my shopping list", `Added task "red wine", project shopping list.`, "not red wine white wine", nil},
		{"a question is no item", "add milk to my shopping list", `Added task "milk", project shopping list.`, "and what time is it?", nil},
		{"the time of a record", "remind me tomorrow at 6pm to lock the shed", "OK", "what time will that be?", []string{`list_reminders{}`}},
		{"no reference", "what reminders do I have?", "There are no reminders.", "delete it", nil},
		{"two records", "list my tasks", "2 open tasks:\n- paint\n- dig", "delete it", nil},
		{"a reaction", "add a task to buy blue paint", "OK", "sorry, my bad", nil},
		{"a recurrence keeps its days", "remind me every wednesday at 19:00 about choir", "OK", "make it 19:30 instead", []string{`update_reminder{"every":"30 19 * * 3","reminder":"choir"}`}},
		{"a shown recurrence keeps its days", "what reminders do I have?", "1 reminder:\n- choir (every Wednesday at 19:00, next today at 19:00, Wed 11 Mar at 19:00 and Wed 18 Mar at 19:00)", "make it 8", []string{`update_reminder{"every":"0 20 * * 3","reminder":"choir"}`}},
		{"a changed recurrence keeps its days", "what reminders do I have?", "1 reminder:\n- pills (every day at 07:00, next tomorrow at 07:00, Fri 6 Mar at 07:00 and Sat 7 Mar at 07:00)", "move it to 6:30", []string{`update_reminder{"every":"30 6 * * *","reminder":"pills"}`}},
		{"a part of the day keeps the day", "remind me tomorrow at 9 to call Ed", "OK", "move it to the afternoon", []string{`update_reminder{"at":"2026-03-05T14:00:00+02:00","reminder":"call Ed"}`}},
		{"a time in the night", "wake me at 6 tomorrow", "OK", "make it 3", nil},
		{"the nearer half", "wake me at 6 tomorrow", "OK", "make it half past 5", []string{`update_reminder{"at":"05:30","reminder":"wake up"}`}},
		{"another alarm", "set an alarm for 6:30 tomorrow", "OK", "and another one for 7 tomorrow", []string{`create_reminder{"at":"2026-03-05T07:00:00+02:00","text":"alarm"}`}},
		{"an alarm is no appointment", "set an alarm for 6:30 tomorrow", "OK", "delete the appointment", []string{`list_reminders{"query":"appointment"}`, `list_tasks{"query":"appointment"}`}},
		{"the alarm", "set an alarm for 6:30 tomorrow", "OK", "cancel the alarm", []string{`cancel_reminder{"reminder":"alarm"}`}},
		{"forget it and delete it", "remind me at 5pm to call mum", "OK", "forget it, delete it", []string{`cancel_reminder{"reminder":"call mum"}`}},
		{"delete it and forget it", "remind me at 5pm to call mum", "OK", "delete it, no, leave it", nil},
		{"a day is no text", "add a task to pay the bill", "OK", "change the bill to saturday", []string{`list_reminders{"query":"bill"}`, `list_tasks{"query":"bill"}`}},
		{"later is a shift", "set an alarm for 6:30 tomorrow", "OK", "make my alarm 15 minutes later", []string{`update_reminder{"reminder":"alarm","shift":"15m0s"}`}},
		{"another timer with a name", "set a timer for 8 minutes for the rice", "OK", "and one for 12 minutes for the chicken", []string{`create_reminder{"at":"2026-03-04T10:27:00+02:00","text":"chicken"}`}},
		{"turn it off", "wake me at 6 tomorrow", "OK", "turn it off", []string{`cancel_reminder{"reminder":"wake up"}`}},
		{"turn off no reminder", "remind me at 5pm to call mum", "OK", "turn it off", nil},
		{"its urgent", "add a task to call the landlord", "OK", "its urgent", []string{`update_task{"priority":"critical","task":"call the landlord"}`}},
		{"another statement", "remind me at 5pm to call mum", "OK", "sorry, I am late", nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			c.hearText(tc.first)
			c.answerCalls(tc.result)
			expectCalls(t, c.hearText(tc.second), tc.want...)
		})
	}
}

// TestFollowUps_AskForTheHalfOfTheDay: if neither half of the day is likely enough, Hob asks.
func TestFollowUps_AskForTheHalfOfTheDay(t *testing.T) {
	c := newConversation(t)
	c.hearText("wake me at 6 tomorrow")
	c.answerCalls("I will remind you tomorrow at 06:00: wake up.")
	if expectCalls(t, c.hearText("make it 3")); c.lastText() != "At 03:00 or at 15:00?" {
		t.Errorf("reply = %q", c.lastText())
	}
	expectCalls(t, c.hearText("in the afternoon"), `update_reminder{"at":"15:00","reminder":"wake up"}`)
}

// TestUndo_AsksAfterAnotherMessage: after a message that Hob did not understand, "undo that" asks before
// it undoes an earlier action.
func TestUndo_AsksAfterAnotherMessage(t *testing.T) {
	c := newConversation(t)
	made := c.hearText("remind me at 5pm to call mum")
	c.answerCalls("I will remind you today at 17:00: call mum.")
	c.hearText("blah blah zorp")
	if expectCalls(t, c.hearText("undo that")); !strings.HasSuffix(c.lastText(), "set the reminder “call mum”. Should I undo that?") {
		t.Errorf("reply = %q", c.lastText())
	}
	expectCalls(t, c.hearText("yes"), `undo{"id":"`+made[0].ID+`"}`)
	c = newConversation(t)
	c.hearText("remind me at 5pm to call mum")
	c.answerCalls("I will remind you today at 17:00: call mum.")
	expectCalls(t, c.hearText("undo that"), "undo{}")
}

func TestLists_FixedPairsAreOneItem(t *testing.T) {
	for _, tc := range []struct{ said, items string }{
		{"add bananas and mac and cheese to my shopping list", "bananas|mac and cheese"},
		{"add mac and cheese and bananas to my shopping list", "mac and cheese|bananas"},
		{"add fish and chips to the shopping list", "fish and chips"},
		{"put milk, bread and salt and pepper on the shopping list", "milk|bread|salt|pepper"},
		{"add ham and cheese sandwiches and crisps to the shopping list", "ham and cheese sandwiches|crisps"},
		{"i need gin and tonic, ice and lemons", "gin|tonic|ice|lemons"},
		{"add sour cream and onion crisps to the shopping list", "sour cream and onion crisps"},
		{"shopping list: arts and crafts supplies, pens", "arts and crafts supplies|pens"},
		{"add peanut butter and jelly and bread to the shopping list", "peanut butter|jelly|bread"},
		{"add bread and butter to the shopping list", "bread|butter"},
		{"start a shopping list with eggs, ham and cheese", "eggs|ham|cheese"},
	} {
		var items []string
		for _, c := range newConversation(t).hearText(tc.said) {
			_, item, _ := strings.Cut(string(c.Args), `"title":"`)
			items = append(items, strings.TrimSuffix(item, `"}`))
		}
		if got := strings.Join(items, "|"); got != tc.items {
			t.Errorf("%q: got %s, want %s", tc.said, got, tc.items)
		}
	}
}

func TestAnswers_AreComplete(t *testing.T) {
	for _, other := range []string{"is there a meeting at 4 today", "my sister's train gets in at 9:20 tonight", "what have i got on tomorrow at 5?", "the shop closes at 6"} {
		c := newConversation(t)
		c.hearText("remind me to call mum")
		for _, call := range c.hearText(other) {
			if call.Name == "create_reminder" {
				t.Errorf("%q was accepted as an answer: %s", other, call.Args)
			}
		}
	}
}

func TestRequests_SecondIsNotDropped(t *testing.T) {
	timer := func(at string) string { return `create_reminder{"at":"2026-03-04T` + at + `:00+02:00","text":"timer"}` }
	for _, tc := range []struct {
		said string
		want []string
		says string
	}{
		{"set a timer for 12 minutes and another for 5 minutes", []string{timer("10:27"), timer("10:20")}, ""},
		{"set a timer for 12 minutes and another one for 5 minutes", []string{timer("10:27"), timer("10:20")}, ""},
		{"timer for 12 mins, and one for 5 mins", []string{timer("10:27"), timer("10:20")}, ""},
		{"start a 12 minute timer and a second one for 5 minutes", []string{timer("10:27"), timer("10:20")}, ""},
		{"set two timers, one for 12 minutes and one for 5 minutes", []string{timer("10:27"), timer("10:20")}, ""},
		{"set timers for 12 and 5 minutes", []string{timer("10:27"), timer("10:20")}, ""},
		{"set a timer for 10 minutes for the pasta and one for 7 minutes for the eggs", []string{`create_reminder{"at":"2026-03-04T10:25:00+02:00","text":"pasta"}`, `create_reminder{"at":"2026-03-04T10:22:00+02:00","text":"eggs"}`}, ""},
		{"remind me at 6 to call mum and another at 7", []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"call mum"}`, `create_reminder{"at":"2026-03-04T19:00:00+02:00","text":"call mum"}`}, ""},
		{"set a timer for 12 minutes and another", nil, ""},
		{"set three timers, one for 12 minutes and one for 5 minutes", nil, ""},
		{"set a timer for 10 minutes for the pasta and then stir it at 5", nil, ""},
		{"remind me at 5 to go shopping and tell me what day it is", []string{`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"go shopping"}`}, ""},
		{"can you remember things", nil, ""},
	} {
		c := newConversation(t)
		if expectCalls(t, c.hearText(tc.said), tc.want...); !strings.HasSuffix(c.lastText(), tc.says) {
			t.Errorf("%q: reply %q", tc.said, c.lastText())
		}
	}
}

// A lead such as "10 minutes before" at the end of a free text is not part of a task.
func TestRequests_LeadTimeIsNotPartOfATask(t *testing.T) {
	for _, said := range []string{"i need to leave at 4:45, let me know 10 mins before", "add a task to leave at 4:45, shout 10 minutes before", "put the oven on at 5, tell me 10 minutes before"} {
		for _, call := range newConversation(t).hearText(said) {
			if call.Name == "create_task" {
				t.Errorf("%q: %s", said, call.Args)
			}
		}
	}
}

func TestRequests_SeveralReminders(t *testing.T) {
	c := newConversation(t)
	expectCalls(t, c.hearText("remind me to call mum at 5pm and dad at 6pm"),
		`create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"call mum"}`, `create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"call dad"}`)
	c = newConversation(t)
	expectCalls(t, c.hearText("remind me tomorrow at 8 to feed the cat, at 9 to ring the vet"),
		`create_reminder{"at":"2026-03-05T08:00:00+02:00","text":"feed the cat"}`, `create_reminder{"at":"2026-03-05T09:00:00+02:00","text":"ring the vet"}`)
	c = newConversation(t)
	expectCalls(t, c.hearText("remind me 15 minutes before my dentist appointment at 3pm"), `create_reminder{"at":"2026-03-04T14:45:00+02:00","text":"dentist appointment at 15:00"}`)
}

// TestFollowUps_QuestionExpires: a question accepts an answer for 10 minutes and after at most one other
// message, and "back to the reminder" repeats the question.
func TestFollowUps_QuestionExpires(t *testing.T) {
	for _, tc := range []struct {
		name  string
		age   time.Duration
		said  []string // between the question and the answer
		calls []string
	}{
		{"in time", 9 * time.Minute, nil, []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"call mum"}`}},
		{"too late", 11 * time.Minute, nil, nil},
		{"after one other message", time.Minute, []string{"what time is it?"}, []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"call mum"}`}},
		{"after two other messages", time.Minute, []string{"what time is it?", "who are you?"}, nil},
		{"after going back to it", time.Minute, []string{"what time is it?", "back to the reminder", "what day is it?"}, []string{`create_reminder{"at":"2026-03-04T18:00:00+02:00","text":"call mum"}`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newConversation(t)
			for _, said := range append([]string{"remind me to call mum"}, tc.said...) {
				c.hearText(said)
			}
			for i := range c.messages {
				c.messages[i].At = corpusTime(t).Add(-tc.age)
			}
			expectCalls(t, c.hearText("at 6pm"), tc.calls...)
		})
	}
}

// TestFollowUps_AskWhichRecord: a question about a record lists the records, and accepts only one of them as the
// answer.
func TestFollowUps_AskWhichRecord(t *testing.T) {
	list := "2 reminders:\n- swimming (today at 18:30)\n- library (tomorrow at 12:00)"
	for _, tc := range []struct {
		answer string
		calls  []string
	}{
		{"the second one", []string{`cancel_reminder{"reminder":"library"}`}},
		{"swimming", []string{`cancel_reminder{"reminder":"swimming"}`}},
		{"the library closes early on saturdays", nil},
		{"what's 15% of 80", nil},
		{"no", nil},
	} {
		c := newConversation(t)
		expectCalls(t, c.hearText("cancel the reminder"), `list_reminders{}`)
		if got := c.answerCalls(list); !strings.HasSuffix(got.Text(), "2. library (tomorrow at 12:00)\nWhich reminder should I cancel?") {
			t.Fatalf("result of list_reminders = %q", got.Text())
		}
		expectCalls(t, c.hearText(tc.answer), tc.calls...)
	}
}

func TestFollowUps_StatementAboutATask(t *testing.T) {
	list := "2 open tasks:\n- water the plants\n- call the plumber (due today)"
	c := newConversation(t)
	c.hearText("ive watered the plants")
	got := c.answerCalls(list)
	expectCalls(t, got.Calls(), `complete_task{"task":"water the plants"}`)
	for _, other := range []string{"i've watered the lawn", "i have rung the plumber's wife", "i called the plumber tomorrow"} {
		c = newConversation(t)
		for _, call := range c.hearText(other) {
			if call.Name != "list_tasks" {
				t.Errorf("%q led to %s", other, call.Name)
			}
		}
		if len(c.messages[len(c.messages)-1].Parts) > 0 && c.messages[len(c.messages)-1].Parts[0].Call != nil {
			if got = c.answerCalls(list); len(got.Calls()) > 0 {
				t.Errorf("%q led to %v", other, got.Calls())
			}
		}
	}
}

// TestFollowUps_ContinueACalculation: a message may continue the last calculation, or repeat it with another figure or
// unit.
func TestFollowUps_ContinueACalculation(t *testing.T) {
	c := newConversation(t)
	for _, tc := range [][2]string{
		{"what is 20 percent of 350", "= 70"},
		{"and 25?", "= 87.5"},
		{"add those two together", "= 157.5"},
		{"divide that by 3", "= 52.5"},
		{"plus 10", "= 62.5"},
		{"how many kilos is 200 pounds", "= 90.72 kg"},
		{"and in stone?", "= 14.29 stone"},
		{"what about in grams", "= 90718.47 g"},
	} {
		expectCalls(t, c.hearText(tc[0]))
		if !strings.HasSuffix(c.lastText(), tc[1]) {
			t.Errorf("%q: %s", tc[0], c.lastText())
		}
	}
	expectCalls(t, newConversation(t).hearText("divide that by 3"))
}

// TestRequests_FindRecordsByName: a request without a kind finds the reminder or the task.
func TestRequests_FindRecordsByName(t *testing.T) {
	reminders := "2 reminders:\n- the dentist (tomorrow at 10:00)\n- choir (every Wednesday at 19:00, next today at 19:00, Wed 11 Mar at 19:00 and Wed 18 Mar at 19:00)"
	tasks := "2 open tasks:\n- paint the fence (due Fri 6 Mar)\n- order wood"
	for _, tc := range []struct{ said, want string }{
		{"move the dentist to Monday", `update_reminder{"at":"2026-03-09","reminder":"the dentist"}`},
		{"push the dentist to friday at 3pm", `update_reminder{"at":"2026-03-06T15:00:00+02:00","reminder":"the dentist"}`},
		{"reschedule choir to 20:00", `update_reminder{"every":"0 20 * * 3","reminder":"choir"}`},
		{"move paint the fence to saturday", `update_task{"due":"2026-03-07","task":"paint the fence"}`},
		{"cancel the dentist", `cancel_reminder{"reminder":"the dentist"}`},
		{"delete the fence", `delete_task{"task":"paint the fence"}`},
		{"cancel dentist", `cancel_reminder{"reminder":"the dentist"}`},
		{"move the party to monday", ""},
		{"cancel the newspaper", ""},
		{"cancel the dentist but not the fence", ""},
	} {
		c := newConversation(t)
		calls := c.hearText(tc.said)
		if len(calls) == 0 {
			if tc.want != "" {
				t.Errorf("%q: %s", tc.said, c.lastText())
			}
			continue
		}
		r := c.answerCalls(reminders, tasks)
		got := r.Calls()
		if tc.want == "" {
			if len(got) > 0 {
				t.Errorf("%q: %v", tc.said, got)
			}
			continue
		}
		expectCalls(t, got, tc.want)
	}
}

// TestQuestions_AboutReminders: a question names a kind or a day, and the answer lists only the
// matching reminders.
func TestQuestions_AboutReminders(t *testing.T) {
	list := "3 reminders:\n- pasta (today at 10:20)\n- call mum (today at 17:00)\n- alarm (tomorrow at 06:45)"
	for _, tc := range []struct{ said, says string }{
		{"which alarms are set?", "1 alarm:\n- alarm (tomorrow at 06:45)"},
		{"is there an alarm for tomorrow?", "1 alarm tomorrow:\n- alarm (tomorrow at 06:45)"},
		{"any timers running?", "There are no timers without a name. Your reminders:\n- pasta"},
		{"do i have any alarms set", "1 alarm:\n- alarm (tomorrow at 06:45)"},
		{"how long is left on the pasta", "5 minutes: pasta (today at 10:20)."},
		{"how long has the pasta got?", "5 minutes: pasta (today at 10:20)."},
		{"how much time is left on my timer", "5 minutes: pasta (today at 10:20)."},
		{"how long is left on the cake", "There is no timer or reminder for “cake”."},
	} {
		c := newConversation(t)
		if calls := c.hearText(tc.said); len(calls) != 1 || calls[0].Name != "list_reminders" {
			t.Errorf("%q: %v %s", tc.said, calls, c.lastText())
			continue
		}
		if got := c.answerCalls(list); !strings.HasPrefix(got.Text(), tc.says) {
			t.Errorf("%q: %q", tc.said, got.Text())
		}
	}
}

func TestRequests_SeveralReads(t *testing.T) {
	c := newConversation(t)
	expectCalls(t, c.hearText("add bread to the list, remind me at 5 to go shopping and tell me what day it is"), `list_tasks{}`)
	got := c.answerCalls("1 open task:\n- nails (project diy list)")
	expectCalls(t, got.Calls(), `create_task{"project":"diy list","title":"bread"}`, `create_reminder{"at":"2026-03-04T17:00:00+02:00","text":"go shopping"}`)
	if got = c.answerCalls(`Added task "bread", project diy list.`, "OK"); !strings.HasSuffix(got.Text(), "Today is Wednesday, 4 March 2026.") {
		t.Errorf("reply = %q", got.Text())
	}
}

// TestFollowUps_SkipAnOccurrence: "not this week" excludes days of a recurrence.
func TestFollowUps_SkipAnOccurrence(t *testing.T) {
	for _, tc := range []struct{ said, want string }{
		{"not this week though", `update_reminder{"every":"every Wednesday at 19:00, except on 4 March 2026","reminder":"choir"}`},
		{"skip today", `update_reminder{"every":"every Wednesday at 19:00, except on 4 March 2026","reminder":"choir"}`},
		{"but not next week", `update_reminder{"every":"every Wednesday at 19:00, except on 11 March 2026","reminder":"choir"}`},
		{"skip the next one", `update_reminder{"every":"every Wednesday at 19:00, except on 4 March 2026","reminder":"choir"}`},
		{"not tomorrow", ""},
	} {
		c := newConversation(t)
		c.hearText("remind me every wednesday at 19:00 about choir")
		c.answerCalls("I will remind you every Wednesday at 19:00: choir. Next: today at 19:00, Wed 11 Mar at 19:00 and Wed 18 Mar at 19:00.")
		calls := c.hearText(tc.said)
		if tc.want == "" {
			expectCalls(t, calls)
			continue
		}
		expectCalls(t, calls, tc.want)
	}
}

// TestFollowUps_PositionRefersToTheList: a position refers to the list, and not to the record of the last message.
func TestFollowUps_PositionRefersToTheList(t *testing.T) {
	c := newConversation(t)
	c.hearText("list my tasks")
	c.answerCalls("3 open tasks:\n- fix the tap\n- paint the door\n- ring Joe")
	expectCalls(t, c.hearText("the second one is done"), `complete_task{"task":"paint the door"}`)
	c.answerCalls(`Done: "paint the door". 2 open tasks are left.`)
	expectCalls(t, c.hearText("move the first one to saturday"), `update_task{"due":"2026-03-07","task":"fix the tap"}`)
	c.answerCalls(`Changed the task: fix the tap (due Sat 7 Mar).`)
	expectCalls(t, c.hearText("delete the last one"), `delete_task{"task":"ring Joe"}`)
}

// TestFollowUps_KeepOrAskForTheTime: a part of a request that Hob cannot place leads to a question, and a recurrence
// keeps its time of day.
func TestFollowUps_KeepOrAskForTheTime(t *testing.T) {
	for _, tc := range []struct {
		said string
		want []string
	}{
		{"wake me at 5 on weekdays except friday", []string{`create_reminder{"every":"0 5 * * 1,2,3,4","text":"wake up"}`}},
		{"alarm 5:45 on weekdays", nil},
		{"set an alarm for half 6 every weekday", nil},
		{"remind me to take my pill at 8 and 8", nil},
		{"remind me at 9 pm tokyo time to call Haruki", nil},
		{"add cucumbers, feta n olives to the shopping list", []string{`create_task{"project":"shopping list","title":"cucumbers"}`, `create_task{"project":"shopping list","title":"feta"}`, `create_task{"project":"shopping list","title":"olives"}`}},
		{"i need to finish the report by friday, its important", []string{`create_task{"due":"2026-03-06","priority":"high","title":"finish the report"}`}},
		{"set two alarms one at 6:50 and one at 7:10 tomorow", []string{`create_reminder{"at":"2026-03-05T06:50:00+02:00","text":"alarm"}`, `create_reminder{"at":"2026-03-05T07:10:00+02:00","text":"alarm"}`}},
		{"are there any eggs on my shopping list", []string{`list_tasks{"project":"shopping list"}`}},
		{"remove all the alarms", []string{`list_reminders{"in":"hob"}`}},
		{"is there anything on my grocery list", []string{`list_tasks{"project":"shopping list"}`}},
	} {
		c := newConversation(t)
		if expectCalls(t, c.hearText(tc.said), tc.want...); tc.want == nil && !strings.HasSuffix(c.lastText(), "?") {
			t.Errorf("%q: %s", tc.said, c.lastText())
		}
	}
	for _, said := range []string{"parents evening thursday 6.30", "meeting w/ Tom moved to friday at 11"} {
		if calls := newConversation(t).hearText(said); len(calls) > 0 {
			t.Errorf("%q: %v", said, calls)
		}
	}
	c := newConversation(t)
	c.hearText("remind me every 3 days at 8 to water the fern")
	c.answerCalls("I will remind you every 3 days at 08:00: water the fern. Next: tomorrow at 08:00.")
	expectCalls(t, c.hearText("make it every 4 days"), `update_reminder{"every":"every 4 days at 08:00","reminder":"water the fern"}`)
}
