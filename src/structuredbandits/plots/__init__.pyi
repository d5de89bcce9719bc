# The public names; they are imported when they are first used.
from ._arm_regions import competitive_plot as competitive_plot
from ._arm_regions import regions_plot as regions_plot
from ._best_arm import best_plot as best_plot
from ._gain import gain_plot as gain_plot
from ._regret import regret_grid_plot as regret_grid_plot
from ._regret import regret_plot as regret_plot
from ._regret_comparison import regret_against_theta_plot as regret_against_theta_plot
from ._regret_comparison import regret_spread_plot as regret_spread_plot
from .structure_figure import structure_plot as structure_plot
from .style import colour_of as colour_of
from .style import look_of as look_of
from .style import save as save
