# Makes a task, marks one as done or open, or takes one away.
function Main($in) {
  $space = Attach $true
  $repeats = $false
  if ($in.how -eq 'create') {
    $task = $script:outlook.CreateItem(3)
    $task.Subject = $in.title
    $task.Body = [string]$in.notes
    $task.Importance = $in.importance
    if ($in.day) {
      $task.DueDate = OnDay $in.day
    }
    if ($in.at) {
      $task.ReminderTime = Local $in.at
      $task.ReminderSet = $true
    }
    Commence
    $task.Save()
  } else {
    $task = Same $space $in
    if ($task.Class -ne 48) {
      Refuse 'not_found' 'not a task'
    }
    $repeats = [bool]$task.IsRecurring
    if ($in.how -eq 'done' -and $task.Complete) {
      Refuse 'changed' 'the task is already completed'
    }
    Commence
    if ($in.how -eq 'done') {
      $task.MarkComplete()
    }
    if ($in.how -eq 'open') {
      $task.Status = 0
      $task.Save()
    }
    if ($in.how -eq 'remove') {
      $task.Delete()
      Answer @{ id = '' }
      return
    }
  }
  Answer @{ id = [string]$task.EntryID; store = [string]$task.Parent.StoreID; version = (Stamp $task); repeats = $repeats }
}
