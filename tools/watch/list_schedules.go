package watch

import "hob/tools"

func (f watcherFamily) listSchedules() tools.Tool {
	return f.listTool(tools.Spec{
		Name: "list_schedules", Category: "watch", Effects: tools.Read,
		Description: "List what is scheduled to be done.",
		Keywords:    "show schedules cron jobs recurring planned",
	})
}
