"""Calibrated scores: few labels by people, many verdicts of a judge, intervals that hold. Pure.

    from judge.calibration.strata import Items, Kind, Labels, stratify
    from judge.calibration.poststratified import Target, calibrated

    items = Items(Kind.HARM, "run-7", ids, models, questions, verdicts, judges=fingerprint)
    labels = Labels("run-7", ids_drawn, values)          # nan: drawn, and not answered
    strata = stratify(items, labels)                     # model × verdict (× prompt set)
    score = calibrated(strata)                           # an Estimate, or None with the reason
    one = calibrated(strata.of("model-a"))               # of one model
    strata.refusals                                      # why not, and what to do

What may be wrong with labels is found by :func:`~judge.calibration.strata.stratify` and carried
as values; an estimator that is given refused strata returns no value, and never a clipped one.

| file | what |
|---|---|
| strata, columns, binding, refusals, merging | verdicts and labels as strata, or why not |
| poststratified, posterior, linearised | the default score: a finite set, or a population |
| companions | people alone, PPI, PPI++ and the width gained |
| rogan_gladen | for labels from another set only |
| ratios, contrasts | relative reduction, and differences, between calibrated models |
| wrong_items | the right rate from the wrong items |
| selective | verdicts kept only where the judge is sure |
| active, active_calibration | labels chosen by their use: the score, and what stands beside it |
| uncertainty, doubted, active_plan | by what they are chosen, and the draw |
| stopping, bets | may labelling stop? |
"""
