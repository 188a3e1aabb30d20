# The people in whose names, companies, addresses and numbers all words are found, from
# their table.
function Main($in) {
  $space = Attach $false
  $table = $space.GetDefaultFolder(10).GetTable()
  $table.Columns.RemoveAll()
  foreach ($name in 'EntryID', 'FullName', 'CompanyName', 'Email1Address', 'Email2Address', 'Email3Address', 'MobileTelephoneNumber', 'BusinessTelephoneNumber', 'HomeTelephoneNumber', 'Birthday', 'MessageClass') {
    $null = $table.Columns.Add($name)
  }
  $people = New-Object System.Collections.ArrayList
  $seen = 0
  while (-not $table.EndOfTable -and $people.Count -lt $in.limit) {
    $v = $table.GetNextRow().GetValues()
    $seen = $seen + 1
    if (-not ([string]$v[10]).StartsWith('IPM.Contact')) {
      continue
    }
    $all = [string]$v[1] + ' ' + [string]$v[2] + ' ' + [string]$v[3] + ' ' + [string]$v[4] + ' ' + [string]$v[5] + ' ' + [string]$v[6] + ' ' + [string]$v[7] + ' ' + [string]$v[8]
    $digits = $all -replace '[^0-9+ ]', ''
    if ((HasAll $all $in.words) -or (HasAll ($digits -replace ' ', '') $in.words)) {
      $null = $people.Add(@{ id = [string]$v[0]; name = [string]$v[1]; company = [string]$v[2]; addresses = @([string]$v[3], [string]$v[4], [string]$v[5]); phones = @([string]$v[6], [string]$v[7], [string]$v[8]); born = (Day $v[9]) })
    }
  }
  Answer @{ people = $people.ToArray(); seen = $seen }
}
