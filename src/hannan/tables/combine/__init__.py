"""Combination of forecasts of several experts into one forecast with guarantees."""
