"""Numbers to counts: the regressors. A leaf package that knows neither `crowdcount` nor `features`."""
