enum bool answer { yes = true, no = false }
