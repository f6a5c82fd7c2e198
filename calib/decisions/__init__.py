"""From a calibrated probability to an action: cuts, costs, sets of classes, what to leave unanswered, how many rows."""
