"""Tests and intervals that assume little.

- `means`: means over seeds, paired differences, Student's intervals;
- `ranks`: Spearman's and Kendall's correlations, their permutations, agreement of halves;
- `resampling`: permutation p-values, bootstrap and jackknife intervals;
- `shapes`: whether a measure rises, falls, is a U or is flat over directions;
- `sign_flips`: exact tests of paired differences between folds.
"""
